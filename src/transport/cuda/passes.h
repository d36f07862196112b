// The passes over a matrix in the memory of a GPU, as functions of plain pointers to that memory.
// No CUDA header is needed to call them. Every sum has a fixed order: the same input gives the same
// bits on the same GPU.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace remblai::cuda {

using Stream = CUstream_st*;

/// Some rows of an m x n matrix, row by row. `stride` is n rounded up so that rows begin at
/// multiples of 16 bytes; entries of a kernel beyond column n are 0.
template <class T>
struct Tile {
  T* entries = nullptr;  ///< costs without their row and column parts, in a unit of their own
  T* kernel = nullptr;   ///< K
  std::int64_t rows = 0, columns = 0, stride = 0;
};

/// What a sweep makes of the product d_i = (K x)_i of each row: y_i.
struct RowWork {
  enum Kind {
    weigh,         ///< weights_i d_i
    meet_exact,    ///< weights_i / d_i, which is kept in `out`
    meet_relaxed,  ///< 2^max(-1000, log2 weights_i - power log2 d_i - (1 - power) shifts_i), kept
                   ///< too
    given,         ///< weights_i
    keep,          ///< 0; d_i is kept in `out`
  };
  Kind kind = weigh;
  const double* weights = nullptr;
  const double* shifts = nullptr;
  double power = 1;
  double* out = nullptr;
  bool squares = false;  ///< columns are summed over K_ij^2
};

/// What a sweep needs beside its arguments: room for partial sums, and what the GPU can do.
struct SweepRoom {
  double* partial = nullptr;
  double* products = nullptr;  ///< one for each row of the largest tile
  int processors = 1;
  int shared_memory = 0;  ///< bytes that a block may have
  bool clusters = false;  ///< of thread blocks, which wide rows are split over
};

/// Whether the current GPU, and the code that was compiled for it, know clusters.
bool clusters_work();

/// Partial sums that a sweep may need, in numbers.
std::int64_t partial_size(std::int64_t columns, int processors);

/// sums_j = sum_i y_i K_ij, added to what is there when `add`. K is read once where a row fits the
/// shared memory of a block, or of a cluster of blocks; twice elsewhere.
template <class T>
void sweep(const Tile<T>& tile, const double* x, const RowWork& work, const SweepRoom& room,
           double* sums, bool add, Stream stream);

/// K_ij = 2^(columns_j - scale entries_ij + shifts_i). With `find_top` the shifts are found first,
/// so that the largest entry of each row is 1, and returned.
template <class T>
void exponentials(const Tile<T>& tile, const double* columns, double scale, double* shifts,
                  bool find_top, Stream stream);

/// out_i = sum_j K_ij entries_ij.
template <class T>
void row_costs(const Tile<T>& tile, double* out, Stream stream);

/// Entries from a row-major matrix in double, times `factor`.
template <class T>
void narrow(const double* from, double factor, const Tile<T>& tile, Stream stream);

/// K as a row-major matrix in double, without the columns beyond n.
template <class T>
void widen(const Tile<T>& tile, double* to, Stream stream);

/// Numbers in float, times `factor`.
void to_float(const double* from, double factor, float* to, std::int64_t count, Stream stream);

}  // namespace remblai::cuda
