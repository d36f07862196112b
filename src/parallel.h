// Loops over fixed pieces of work: the pieces never depend on the number of threads, so neither do
// sums.
#pragma once

#include <algorithm>

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

/// body(k, rows of piece k) for every piece, in any order, on `threads` threads.
template <class Body>
void for_pieces(Index rows, int threads, Body&& body) {
  const Index pieces = piece_count(rows);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && pieces > 1)
  for (Index k = 0; k < pieces; ++k) body(k, piece(rows, pieces, k));
}

}  // namespace remblai
