// The entries of a matrix: looked at, made, rounded and widened on the GPU.
#pragma once

#include "transport/cuda/extremes.h"
#include "transport/cuda/tile.h"

namespace remblai::cuda {

/// shifts_i = -max_j (columns_j - scale entries_ij), which makes the largest entry of each row 1.
template <class T>
void find_shifts(const Tile<T>& tile, const double* columns, double scale, double* shifts,
                 Stream stream);

/// The exponents of K: columns_j - scale entries_ij + rows_i.
struct Exponents {
  const double* columns = nullptr;
  const double* rows = nullptr;
  double scale = 0;
  double largest = 0;  ///< bound of the absolute values of their three terms
};

/// K_ij = 2^exponent and products_i = (K x)_i; with `costs` also costs_i = sum_j K_ij entries_ij.
/// `partial` is room for `partial_products` numbers.
template <class T>
void exponentials(const Tile<T>& tile, const Exponents& exponents, const double* x,
                  double* products, double* costs, double* partial, int processors, Stream stream);
std::int64_t partial_products(std::int64_t rows);

/// to_ij = left_i K_ij right_j, for numbers that float holds, or K_ij where both are null.
void round(const Tile<double>& tile, const double* left, const double* right, const Tile<float>& to,
           Stream stream);

/// Entries from a row-major matrix in double or float, times `factor`.
template <class From, class T>
void narrow(const From* from, double factor, const Tile<T>& tile, Stream stream);

/// The extremes of so many numbers, in `extreme_parts` parts.
template <class From>
void find_extremes(const From* from, std::int64_t size, Extremes* parts, Stream stream);
constexpr int extreme_parts = 512;

/// K as a row-major matrix in double, without the columns beyond n.
template <class T>
void widen(const Tile<T>& tile, double* to, Stream stream);

/// Each number x, times `factor`, as high + low with 11 bits in each, which is what tensor cores
/// keep of a float. A row of k numbers becomes one of 3 k: high, low, high on the left side of a
/// product and high, high, low on its right side. Their product misses low times low alone, which
/// is 2^-22 of the whole.
enum class Side { left, right };
void split(const double* from, double factor, std::int64_t rows, std::int64_t k, Side side,
           float* to, Stream stream);

}  // namespace remblai::cuda
