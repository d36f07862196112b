// Loops over fixed pieces of work: the pieces never depend on the number of threads, so neither do
// sums.
#pragma once

#include <algorithm>
#include <functional>

#include "remblai/types.h"

namespace remblai {

/// A range of rows [begin, end).
struct Rows {
  Index begin = 0;
  Index end = 0;
};

/// Splits `rows` rows into at most 64 pieces of at least 32 rows.
inline Index piece_count(Index rows) {
  return std::clamp<Index>(rows / 32, 1, 64);
}

inline Rows piece(Index rows, Index pieces, Index k) {
  return {rows * k / pieces, rows * (k + 1) / pieces};
}

/// body(k) for k = 0 ... pieces - 1, in any order, by the caller and up to `threads` - 1 others, as
/// they come. What a body throws is thrown here when all pieces are done, the first of several.
/// Where another thread is in the middle of such a loop, the caller works alone.
void run_pieces(Index pieces, int threads, const std::function<void(Index)>& body);

/// body(k, rows of piece k) for every piece.
template <class Body>
void for_pieces(Index rows, int threads, Body&& body) {
  const Index pieces = piece_count(rows);
  run_pieces(pieces, threads, [&](Index k) { body(k, piece(rows, pieces, k)); });
}

}  // namespace remblai
