// Loops over fixed pieces of work. The pieces do not depend on the number of threads, so sums over
// them do not either.
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

/// The number of pieces for `rows` rows: at most 64, of at least 32 rows each, and at least one.
inline Index piece_count(Index rows) {
  return std::clamp<Index>(rows / 32, 1, 64);
}

/// The rows of piece k of `pieces`.
inline Rows piece(Index rows, Index pieces, Index k) {
  return {rows * k / pieces, rows * (k + 1) / pieces};
}

/// Calls body(k) for k = 0 ... pieces - 1 in any order, in the calling thread and in up to
/// `threads` - 1 others, and returns when all pieces are done. If bodies throw, the first exception
/// is thrown here when no body runs any more. If another caller is in the middle of such a loop, or
/// a body starts one, the loop runs in the calling thread alone.
void run_pieces(Index pieces, int threads, const std::function<void(Index)>& body);

}  // namespace remblai
