// Products and column sums over a stored matrix. Every sum has a fixed order: the same input gives
// the same bits on the same GPU.
#pragma once

#include "transport/cuda/tile.h"

namespace remblai::cuda {

/// What a sweep makes of the product d_i = (K x)_i of each row: y_i.
struct RowWork {
  enum Kind {
    weigh,         ///< weights_i d_i; d_i where there are no weights
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
  double* factors = nullptr;   ///< y, the same
  int gpu = 0;
  int processors = 1;
  int shared_memory = 0;  ///< bytes that a block may have
  int cache = 0;          ///< bytes of the cache between the GPU's memory and its blocks
  bool clusters = false;  ///< of thread blocks, which wide rows are split over; such a GPU also
                          ///< starts a kernel while the last one ends
  bool settled = false;   ///< the matrix was there before the last sweep
};

/// Whether the current GPU, and the code that was compiled for it, know clusters.
bool clusters_work();

/// Partial sums that a sweep may need, in numbers.
std::int64_t partial_size(std::int64_t columns, int processors);

/// sums_j = sum_i y_i K_ij, added to what is there when `add`. K is read once where a row fits the
/// shared memory of a block, or of a cluster of blocks; twice elsewhere. `room.products` holds K x
/// afterwards.
template <class T>
void sweep(const Tile<T>& tile, const double* x, const RowWork& work, const SweepRoom& room,
           double* sums, bool add, Stream stream);

/// The same for entries in float with products and sums in double, up to so many columns; false
/// where the GPU cannot.
bool sweep_in_double(const Tile<float>& tile, const double* x, const RowWork& work,
                     const SweepRoom& room, double* sums, Stream stream);
std::int64_t most_columns_in_double(const SweepRoom& room);

/// The same where `room.products` holds K x already: K is read once.
template <class T>
void add_up(const Tile<T>& tile, const RowWork& work, const SweepRoom& room, double* sums, bool add,
            Stream stream);

}  // namespace remblai::cuda
