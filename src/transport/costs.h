// The costs of all pairs, in double or float: a matrix, or two sets of points from which its rows
// are made when they are needed, so that nothing of size m x n exists.
#pragma once

#include "base/parallel.h"
#include "remblai/types.h"

namespace remblai {

template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// c_ij = unit (alpha_i + beta_j + entry_ij). The entries are all there is when they are stored;
/// else they are the products -2 x_i'z_j, which a matrix product makes, and alpha and beta are
/// |x|^2, |z|^2. The unit is a power of two that keeps floats in their range.
template <class T>
class Costs {
 public:
  explicit Costs(Matrix matrix);

  /// Squared distances between the rows of x and z, stored or not. In float their absolute error is
  /// about 1e-7 of the largest.
  Costs(const Matrix& x, const Matrix& z, bool stored);

  Index rows() const { return alpha_.size(); }
  Index columns() const { return beta_.size(); }
  bool stored() const { return stored_; }

  double unit() const { return unit_; }
  const Vector& alpha() const { return alpha_; }
  const Vector& beta() const { return beta_; }

  /// The entries of these rows, one after the other. `scratch` holds them unless they are stored.
  const T* entries(Rows rows, RowMatrix<T>& scratch) const;

  Vector column(Index j) const;  ///< of the costs themselves

  /// The largest; not less than that when they are not stored. Not finite when double cannot hold
  /// the costs.
  double largest() const { return largest_; }

  /// sum_ij a_i c_ij b_j. O(m n) when they are stored, else O((m + n) d).
  double between(const Vector& a, const Vector& b) const;

 private:
  bool stored_;
  double unit_ = 1;
  RowMatrix<T> matrix_;
  RowMatrix<T> x_, z_;
  Vector alpha_, beta_;
  double largest_ = 0;
};

}  // namespace remblai
