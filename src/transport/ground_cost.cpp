// Costs from points, by products of centred coordinates.
#include "transport/ground_cost.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "base/linalg.h"

namespace remblai {
namespace {

// Divided before it is added up, so that coordinates near the limit of double do not overflow.
Eigen::RowVectorXd mean_of(const Matrix& points) {
  return (points / static_cast<double>(points.rows())).colwise().sum();
}

Matrix beside(const Matrix& left, const Matrix& right) {
  Matrix both(left.rows(), left.cols() + right.cols());
  both << left, right;
  return both;
}

}  // namespace

// With u = x - mean x, v = z - mean z and w = mean x - mean z:
//   |x - z|^2 = |u - v + w|^2 = |u + w|^2 + |v - w|^2 - |w|^2 - 2 u.v.
GroundCost GroundCost::between_points(const Matrix& x, const Matrix& z) {
  return measured_from(x, z, mean_of(x), mean_of(z));
}

GroundCost GroundCost::to_anchors(const Matrix& x, const Matrix& z) {
  const Eigen::RowVectorXd mean = mean_of(z);
  return measured_from(x, z, mean, mean);
}

GroundCost GroundCost::measured_from(const Matrix& x, const Matrix& z,
                                     const Eigen::RowVectorXd& x_mean,
                                     const Eigen::RowVectorXd& z_mean) {
  assert(x.cols() == z.cols() && x.rows() > 0 && z.rows() > 0);
  GroundCost cost;
  const Eigen::RowVectorXd apart = x_mean - z_mean;
  cost.u_ = x.rowwise() - x_mean;
  cost.v_ = z.rowwise() - z_mean;
  cost.alpha_ = (cost.u_.rowwise() + apart).rowwise().squaredNorm();
  cost.beta_ = (cost.v_.rowwise() - apart).rowwise().squaredNorm().array() - apart.squaredNorm();
  cost.range_ = std::pow(linalg::longest_row(cost.u_) + linalg::longest_row(cost.v_), 2);
  if (!std::isfinite(cost.alpha_.sum() + cost.beta_.sum()))
    cost.range_ = std::numeric_limits<double>::infinity();
  return cost;
}

GroundCost GroundCost::dense(Matrix costs) {
  GroundCost cost;
  cost.dense_ = true;
  cost.matrix_ = std::move(costs);
  cost.alpha_ = Vector::Zero(cost.matrix_.rows());
  cost.beta_ = Vector::Zero(cost.matrix_.cols());
  cost.range_ = cost.matrix_.size() ? cost.matrix_.maxCoeff() - cost.matrix_.minCoeff() : 0;
  return cost;
}

void GroundCost::add_terms(const Matrix& left, const Matrix& right) {
  assert(left.rows() == rows() && right.rows() == columns() && left.cols() == right.cols());
  if (dense_) {
    linalg::gemm(linalg::Op::none, left, linalg::Op::transpose, right, 1, 1, matrix_);
    range_ = matrix_.maxCoeff() - matrix_.minCoeff();
    return;
  }
  u_ = beside(u_, -0.5 * left);
  v_ = beside(v_, right);
  range_ += linalg::longest_row(left) * linalg::longest_row(right);
}

Matrix GroundCost::relative_block(Index first, Index count) const {
  if (dense_) return matrix_.middleRows(first, count);
  Matrix costs(count, columns());
  linalg::rows_times_transpose(u_, first, v_, -2, costs);
  costs.rowwise() += beta_.transpose();
  return costs;
}

Matrix GroundCost::block(Index first, Index count) const {
  Matrix costs = relative_block(first, count);
  if (!dense_) costs.colwise() += alpha_.segment(first, count);
  return costs;
}

Vector GroundCost::column(Index j) const {
  if (dense_) return matrix_.col(j);
  return (alpha_ - 2 * (u_ * v_.row(j).transpose())).array() + beta_[j];
}

double GroundCost::between(const Vector& a, const Vector& b) const {
  if (dense_) return a.dot(matrix_ * b);
  return a.dot(alpha_) * b.sum() + b.dot(beta_) * a.sum() -
         2 * (u_.transpose() * a).dot(v_.transpose() * b);
}

}  // namespace remblai
