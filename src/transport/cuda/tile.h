// A part of a matrix in the memory of a GPU, as plain pointers to it. No CUDA header is needed to
// speak of it.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace remblai::cuda {

using Stream = CUstream_st*;

/// Some rows of an m x n matrix, row by row. `stride` is n rounded up so that rows begin at
/// multiples of 16 bytes; what stands beyond column n is 0.
template <class T>
struct Tile {
  T* entries = nullptr;  ///< costs without their row and column parts, in a unit of their own
  T* kernel = nullptr;   ///< K
  std::int64_t rows = 0, columns = 0, stride = 0;
};

}  // namespace remblai::cuda
