// Sums of weighted rows of a kernel, one for each column.
#pragma once

#include <algorithm>
#include <vector>

#include "base/simd.h"
#include "remblai/types.h"

namespace remblai {

template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// One row of partial sums for each piece of work, added up in the order of the pieces: the total
/// does not depend on which thread did which piece. Floats are added over a few rows at a time and
/// then moved into totals in double, so that long sums keep their digits.
template <class T>
class ColumnSums {
 public:
  /// Sets all sums to zero. Memory is kept as long as the sizes stay the same.
  void reset(Index pieces, Index n) {
    totals_.setZero(pieces, n);
    if constexpr (!direct) {
      recent_.setZero(pieces, n);
      rows_.assign(static_cast<std::size_t>(pieces), 0);
    }
  }

  /// Frees the memory.
  void clear() {
    totals_.resize(0, 0);
    recent_.resize(0, 0);
  }

  /// Adds a_i times row i for the four rows, or the one, at k. Two threads never share a piece.
  void add(Index piece, const T* k, int count, const double* a) {
    const Index n = totals_.cols();
    T weights[4];
    std::transform(a, a + count, weights, [](double x) { return static_cast<T>(x); });
    if (count == 4)
      loops_.add_rows4(k, n, weights, sums_of(piece), n);
    else
      loops_.add_row(k, weights[0], sums_of(piece), n);
    count_rows(piece, count);
  }

  /// Adds a times the squares of the row at k.
  void add_squares(Index piece, const T* k, double a) {
    loops_.add_squares(k, static_cast<T>(a), sums_of(piece), totals_.cols());
    count_rows(piece, 1);
  }

  Vector total() {
    Vector sum = Vector::Zero(totals_.cols());
    for (Index piece = 0; piece < totals_.rows(); ++piece) sum += part(piece);
    return sum;
  }

  /// The sums of one piece.
  auto part(Index piece) {
    if constexpr (!direct) move(piece);
    return totals_.row(piece).transpose();
  }

 private:
  static constexpr bool direct = std::is_same_v<T, double>;

  T* sums_of(Index piece) {
    if constexpr (direct)
      return totals_.row(piece).data();
    else
      return recent_.row(piece).data();
  }

  void count_rows(Index piece, int count) {
    if constexpr (!direct)
      if ((rows_[static_cast<std::size_t>(piece)] += count) >= 64) move(piece);
  }

  void move(Index piece) {
    totals_.row(piece) += recent_.row(piece).template cast<double>();
    recent_.row(piece).setZero();
    rows_[static_cast<std::size_t>(piece)] = 0;
  }

  const simd::Loops<T>& loops_ = simd::loops<T>();
  Matrix totals_;
  RowMatrix<T> recent_;    // empty in double
  std::vector<int> rows_;  // that recent_ has taken
};

}  // namespace remblai
