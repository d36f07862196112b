// The costs of all pairs, in double or float: a matrix, or two sets of points from which its rows
// are made when they are needed, so that nothing of size m x n exists.
#pragma once

#include "parallel.h"
#include "remblai/types.h"

namespace remblai {

template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
class Costs {
 public:
  explicit Costs(const Matrix& matrix);

  /// Squared distances between the rows of x and z, stored or not. In float their absolute error is
  /// about 1e-7 of the largest.
  Costs(const Matrix& x, const Matrix& z, bool stored);

  Index rows() const { return stored() ? matrix_.rows() : x_.rows(); }
  Index columns() const { return stored() ? matrix_.cols() : z_.rows(); }
  bool stored() const { return x_.size() == 0; }

  /// Rows to ask for at a time: all that are stored, else what fills some 64 MB of doubles.
  Index block() const;

  /// The entries of these rows, one after the other. `scratch` holds them unless they are stored.
  const T* rows(Rows rows, int threads, RowMatrix<T>& scratch) const;

  Vector column(Index j) const;

  /// The largest; not less than that when they are not stored.
  double largest() const { return largest_; }

  /// sum_ij alpha_i c_ij beta_j. O(m n) when they are stored, else O((m + n) d).
  double between(const Vector& alpha, const Vector& beta) const;

 private:
  RowMatrix<T> matrix_;
  RowMatrix<T> x_, z_;
  Vector x_squares_, z_squares_;
  double largest_ = 0;
};

}  // namespace remblai
