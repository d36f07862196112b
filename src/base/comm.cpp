// The shares of the ranks.
#include "remblai/comm.h"

#include "base/parallel.h"

namespace remblai {

Comm::~Comm() = default;

std::pair<Index, Index> share_of(Index points, int rank, int size) {
  const Index count = piece_count(points);
  const Index first = count * rank / size, last = count * (rank + 1) / size;
  return {points * first / count, points * last / count};
}

}  // namespace remblai
