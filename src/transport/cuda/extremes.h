// The range of the entries of a matrix, on a GPU and beside it.
#pragma once

#ifdef __CUDACC__
#define REMBLAI_BOTH_SIDES __host__ __device__
#else
#define REMBLAI_BOTH_SIDES
#endif

namespace remblai {

/// The smallest and the largest of some numbers; both are NaN where one of them is.
struct Extremes {
  double smallest = 0, largest = 0;
};

// A comparison with NaN is false.
REMBLAI_BOTH_SIDES inline Extremes both(const Extremes& a, const Extremes& b) {
  if (a.smallest != a.smallest) return a;
  if (b.smallest != b.smallest) return b;
  return {a.smallest < b.smallest ? a.smallest : b.smallest,
          a.largest > b.largest ? a.largest : b.largest};
}

}  // namespace remblai

#undef REMBLAI_BOTH_SIDES
