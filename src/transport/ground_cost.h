// The cost of every pair of a source and a target point. Everything that needs costs (kernels,
// exact transport, maps of new points, neighbours) takes them from here.
#pragma once

#include <optional>
#include <utility>

#include "base/shard.h"
#include "remblai/devices.h"
#include "remblai/types.h"

namespace remblai {

/// c_ij = alpha_i + beta_j - 2 u_i.v_j between m source and n target points, or a dense matrix. The
/// factored form takes O((m + n) k) memory; nothing of size m x n exists unless the caller gave it.
/// Of a divided shard m counts the local rows; means, range and sums are over all of them.
class GroundCost {
 public:
  GroundCost() = default;

  /// Squared Euclidean distances between the rows of x and z. Each set is measured from its own
  /// mean, so that neither the place of the two sets nor the distance between them costs digits of
  /// the products. Error of a cost: about 1e-15 times (alpha_i + beta_j). O((m + n) k).
  static GroundCost between_points(const Matrix& x, const Matrix& z, Shard shard = {});

  /// The same in the memory of a cost that is not needed any more, where it fits.
  static GroundCost between_points(const Matrix& x, const Matrix& z, Shard shard, GroundCost room);

  /// The same of points whose memory it takes. Ranks may have a share of z each, as `targets` has
  /// divided them: then alpha, beta and range are there, but v has the rows of this rank alone.
  static GroundCost between_points(PointPair points, Shard shard = {}, Shard targets = {});

  /// The same for rows of x that have nothing to do with each other: they are measured from the
  /// mean of z, so that one far point costs the others no digits.
  static GroundCost to_anchors(const Matrix& x, const Matrix& z);

  /// A matrix of any costs.
  static GroundCost dense(Matrix costs, Shard shard = {});

  /// The same on a GPU, with entries between these two. Of what follows it has no block and no
  /// column, and nothing can be added to it: a kernel on that GPU answers for all.
  static GroundCost dense(const MatrixOnGpu& costs, double smallest, double largest);

  /// Adds left_i.right_j to c_ij, for `left` with m and `right` with n rows. A cost by class needs
  /// one column a class: the indicator of the class on one side, its cost on the other.
  void add_terms(const Matrix& left, const Matrix& right);

  Index rows() const { return alpha_.size(); }
  Index columns() const { return beta_.size(); }
  bool is_dense() const { return dense_; }
  const Shard& shard() const { return shard_; }  ///< of the rows

  const Matrix& matrix() const { return matrix_; }  ///< c - alpha - beta; dense costs only
  /// In place of that; null where the costs are not on a GPU.
  const MatrixOnGpu* on_gpu() const { return on_gpu_ ? &*on_gpu_ : nullptr; }
  double largest() const { return largest_; }        ///< absolute cost; dense costs only
  const Matrix& u() const { return u_; }             ///< m x k; factored costs only
  const Matrix& v() const { return v_; }             ///< n x k, or a share
  const Shard& targets() const { return targets_; }  ///< of the rows of v
  double longest_v() const;                          ///< the length of the longest row on all ranks
  void unite_targets();                              ///< all of v on every rank
  /// These give up their memory. There are no costs any more.
  PointPair factors() && { return {std::move(u_), std::move(v_)}; }

  /// Frees u and v, for who has made something of them. Nothing can be asked for after it but what
  /// is said of all costs: sizes, shard, alpha, beta and range.
  void drop_factors();

  const Vector& alpha() const { return alpha_; }  ///< m
  const Vector& beta() const { return beta_; }    ///< n

  /// An upper bound of the largest cost between points that share their mean: how much the costs of
  /// a row or a column can differ, which is what makes a transport problem hard. For a
  /// dense matrix the difference of its largest and smallest entry. Not finite where double
  /// precision cannot hold the costs.
  double range() const { return range_; }

  /// The costs of `count` rows from `first` on, count x n. O(count n k).
  Matrix block(Index first, Index count) const;

  /// The same up to a constant in each row, alpha, which may drown the rest when a point is far
  /// away: enough for neighbours and for conditional distributions.
  Matrix relative_block(Index first, Index count) const;

  /// The costs of one column.
  Vector column(Index j) const;

  /// sum_ij a_i c_ij b_j. O((m + n) k), or O(m n) for a dense matrix.
  double between(const Vector& a, const Vector& b) const;

 private:
  static GroundCost measured_from(const Matrix& x, const Matrix& z,
                                  const Eigen::RowVectorXd& x_mean,
                                  const Eigen::RowVectorXd& z_mean, Shard shard, Shard targets,
                                  GroundCost& room);
  void measure_dense();
  void set_extremes(double smallest, double largest);

  bool dense_ = false;
  Shard shard_, targets_;
  Matrix matrix_, u_, v_;
  std::optional<MatrixOnGpu> on_gpu_;
  Vector alpha_, beta_;
  double range_ = 0, largest_ = 0;
};

}  // namespace remblai
