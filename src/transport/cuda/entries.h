// The entries of a matrix: made, rounded and widened on the GPU.
#pragma once

#include "transport/cuda/tile.h"

namespace remblai::cuda {

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
