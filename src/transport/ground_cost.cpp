// Costs from points, by products of centred coordinates.
#include "transport/ground_cost.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/common_rows.h"
#include "base/linalg.h"

namespace remblai {
namespace {

// Divided before it is added up, so that coordinates near the limit of double do not overflow. Row
// by row, as they stand in memory.
Eigen::RowVectorXd mean_of(const Matrix& points, const Shard& shard) {
  const auto count = static_cast<double>(shard.total(points.rows()));
  return shard.sum(points.rows(), points.cols(), [&](Rows rows) -> Vector {
    const Index all = rows.end - rows.begin;
    Matrix parts = Matrix::Zero(piece_count(all), points.cols());
    linalg::for_rows(all, points.cols(), [&](Index k, Rows some) {
      for (Index i = some.begin; i < some.end; ++i)
        parts.row(k) += points.row(rows.begin + i) / count;
    });
    return parts.colwise().sum().transpose();
  });
}

// One side of a factored cost beside the points from their mean: their squared lengths from
// `offset` beside it, and the longest of them.
struct Side {
  Vector squares;
  double longest = 0;
};

// Each row is read once. `centred` may be the points themselves.
Side one_side(const Matrix& points, const Eigen::RowVectorXd& mean,
              const Eigen::RowVectorXd& offset, Matrix& centred) {
  Side side{Vector(points.rows())};
  centred.resize(points.rows(), points.cols());
  Vector longest = Vector::Zero(piece_count(points.rows()));
  linalg::for_rows(points.rows(), points.cols(), [&](Index k, Rows rows) {
    for (Index i = rows.begin; i < rows.end; ++i) {
      auto row = centred.row(i);
      row = points.row(i) - mean;
      side.squares[i] = (row + offset).squaredNorm();
      longest[k] = std::max(longest[k], row.squaredNorm());
    }
  });
  side.longest = std::sqrt(longest.maxCoeff());
  return side;
}

Matrix beside(const Matrix& left, const Matrix& right) {
  Matrix both(left.rows(), left.cols() + right.cols());
  both << left, right;
  return both;
}

}  // namespace

// With u = x - mean x, v = z - mean z and w = mean x - mean z:
//   |x - z|^2 = |u - v + w|^2 = |u + w|^2 + |v - w|^2 - |w|^2 - 2 u.v.
GroundCost GroundCost::between_points(const Matrix& x, const Matrix& z, Shard shard) {
  return between_points(x, z, std::move(shard), GroundCost());
}

GroundCost GroundCost::between_points(const Matrix& x, const Matrix& z, Shard shard,
                                      GroundCost room) {
  const Eigen::RowVectorXd mean = mean_of(x, shard);
  return measured_from(x, z, mean, mean_of(z, {}), std::move(shard), {}, room);
}

GroundCost GroundCost::between_points(PointPair points, Shard shard, Shard targets) {
  GroundCost room;
  std::tie(room.u_, room.v_) = std::move(points);
  const Eigen::RowVectorXd mean = mean_of(room.u_, shard), z_mean = mean_of(room.v_, targets);
  return measured_from(room.u_, room.v_, mean, z_mean, std::move(shard), std::move(targets), room);
}

GroundCost GroundCost::to_anchors(const Matrix& x, const Matrix& z) {
  const Eigen::RowVectorXd mean = mean_of(z, {});
  GroundCost room;
  return measured_from(x, z, mean, mean, {}, {}, room);
}

GroundCost GroundCost::measured_from(const Matrix& x, const Matrix& z,
                                     const Eigen::RowVectorXd& x_mean,
                                     const Eigen::RowVectorXd& z_mean, Shard shard, Shard targets,
                                     GroundCost& room) {
  assert(x.cols() == z.cols() && shard.total(x.rows()) > 0 && targets.total(z.rows()) > 0);
  GroundCost cost;
  cost.shard_ = std::move(shard);
  cost.targets_ = std::move(targets);
  const Eigen::RowVectorXd apart = x_mean - z_mean;
  Side left = one_side(x, x_mean, apart, room.u_);
  Side right = one_side(z, z_mean, -apart, room.v_);
  cost.range_ =
      std::pow(cost.shard_.maximum(left.longest) + cost.targets_.maximum(right.longest), 2);
  cost.u_ = std::move(room.u_);
  cost.v_ = std::move(room.v_);
  cost.alpha_ = std::move(left.squares);
  cost.beta_ = cost.targets_.everywhere(right.squares).array() - apart.squaredNorm();
  if (cost.shard_.any(!std::isfinite(cost.alpha_.sum() + cost.beta_.sum())))
    cost.range_ = std::numeric_limits<double>::infinity();
  return cost;
}

double GroundCost::longest_v() const {
  return targets_.maximum(linalg::longest_row(v_));
}

void GroundCost::unite_targets() {
  if (!targets_.divided()) return;
  v_ = united(targets_, v_);
  targets_ = {};
}

void GroundCost::drop_factors() {
  u_.resize(0, 0);
  v_.resize(0, 0);
}

GroundCost GroundCost::dense(Matrix costs, Shard shard) {
  GroundCost cost;
  cost.dense_ = true;
  cost.shard_ = std::move(shard);
  cost.matrix_ = std::move(costs);
  cost.alpha_ = Vector::Zero(cost.matrix_.rows());
  cost.beta_ = Vector::Zero(cost.matrix_.cols());
  cost.measure_dense();
  return cost;
}

GroundCost GroundCost::dense(const MatrixOnGpu& costs, double smallest, double largest) {
  GroundCost cost;
  cost.dense_ = true;
  cost.on_gpu_ = costs;
  cost.alpha_ = Vector::Zero(costs.rows);
  cost.beta_ = Vector::Zero(costs.columns);
  cost.set_extremes(smallest, largest);
  return cost;
}

void GroundCost::measure_dense() {
  const Eigen::Map<const Vector> entries(matrix_.data(), matrix_.size());
  const double largest = shard_.largest(entries);
  set_extremes(shard_.smallest(entries), largest);
}

void GroundCost::set_extremes(double smallest, double largest) {
  range_ = largest >= smallest ? largest - smallest : 0;
  largest_ = largest >= smallest ? std::max(std::abs(smallest), std::abs(largest)) : 0;
}

void GroundCost::add_terms(const Matrix& left, const Matrix& right) {
  assert(left.rows() == rows() && right.rows() == columns() && left.cols() == right.cols());
  if (dense_) {
    linalg::gemm(linalg::Op::none, left, linalg::Op::transpose, right, 1, 1, matrix_);
    measure_dense();
    return;
  }
  u_ = beside(u_, -0.5 * left);
  v_ = beside(v_, right);
  range_ += shard_.maximum(linalg::longest_row(left)) * linalg::longest_row(right);
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
  if (dense_) return shard_.dot(a, matrix_ * b);
  const Vector moved = shard_.sum(rows(), u_.cols(), [&](Rows rows) -> Vector {
    const Index count = rows.end - rows.begin;
    return u_.middleRows(rows.begin, count).transpose() * a.segment(rows.begin, count);
  });
  return shard_.dot(a, alpha_) * b.sum() + b.dot(beta_) * shard_.sum(a) -
         2 * moved.dot(v_.transpose() * b);
}

}  // namespace remblai
