// Kernel means, without the diagonals.
#include "fit/discrepancy.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "fit/kernel_ridge.h"
#include "model/gaussian.h"
#include "remblai/class_model.h"
#include "transport/ground_cost.h"

namespace remblai {
namespace {

Vector normalised(const Vector& weights, const std::vector<Index>& places) {
  const Vector chosen = weights(places);
  return chosen / chosen.sum();
}

// Of source points, whose rows may be divided; places are among those of all ranks.
Vector normalised(const Vector& weights, const std::vector<Index>& places, const Shard& shard) {
  return normalised(shard.everywhere(weights), places);
}

// Mean kernel between two different points, `mean` being K times the weights; 1 where there is only
// one.
double mean_within(const Vector& weights, const Vector& mean) {
  const double same = weights.squaredNorm();
  return same < 1 - 1e-12 ? (weights.dot(mean) - same) / (1 - same) : 1;
}

// The same from the upper triangle of the kernel.
double mean_within_upper(const Vector& weights, const Matrix& kernel) {
  return mean_within(weights, Vector(kernel.selfadjointView<Eigen::Upper>() * weights));
}

// sum_j k(a_i, b_j) weights_j for each column of weights, some rows of the kernel at a time.
Matrix kernel_times(const Matrix& a, const Matrix& b, double width, const Matrix& weights) {
  Classifier sums;
  sums.width = width;
  sums.points = b;
  sums.coefficients = weights;
  sums.biases = Vector::Zero(weights.cols());
  return sums.scores(a);
}

// The nearest vector of entries of 0 or more that sum to 1: all of them less one number, cut off at
// 0.
Vector nearest_in_simplex(const Vector& v) {
  Vector descending = v;
  std::sort(descending.begin(), descending.end(), std::greater<>());
  double sum = 0, level = 0;
  for (Index k = 0; k < v.size(); ++k) {
    sum += descending[k];
    const double candidate = (sum - 1) / static_cast<double>(k + 1);
    if (descending[k] > candidate) level = candidate;
  }
  return (v.array() - level).max(0.0);
}

// Shares h that minimise h'Ah - 2 b'h, A having entries of 0 or more, by accelerated projected
// gradients: good to some digits, which is all that is asked.
Vector minimise_over_shares(const Matrix& a, const Vector& b) {
  constexpr int most = 300;
  constexpr double still = 1e-8;
  const double step = 1 / std::max(a.rowwise().sum().maxCoeff(), 1e-300);
  Vector h = Vector::Constant(b.size(), 1 / static_cast<double>(b.size())), ahead = h;
  double pace = 1;
  for (int k = 0; k < most; ++k) {
    const Vector next = nearest_in_simplex(ahead - step * (a * ahead - b));
    const double faster = (1 + std::sqrt(1 + 4 * pace * pace)) / 2;
    const double change = (next - h).lpNorm<1>();
    ahead = next + (pace - 1) / faster * (next - h);
    h = next;
    pace = faster;
    if (change < still) break;
  }
  return h;
}

}  // namespace

Discrepancy::Discrepancy(const Clouds& centred, const Vector& p, const Vector& q)
    : rows_(even_sample(centred.shard.total(centred.x.rows()), most_compared)),
      columns_(even_sample(centred.z.rows(), most_compared)),
      q_(normalised(q, columns_)) {
  const Vector own = normalised(p, rows_, centred.shard);
  const auto set_width = [&](double mean) {
    if (mean > 0) width_ = 0.8 * mean;
  };
  if (centred.measured()) {
    set_width(q_.dot(centred.zx() * own));
    within_source_ = upper_gaussian(centred.xx(), width_);
    within_target_ = mean_within_upper(q_, upper_gaussian(centred.zz(), width_));
    return;
  }
  const Matrix z = centred.z(columns_, Eigen::all);
  set_width(
      GroundCost::between_points(centred.shard.rows_of(centred.x, rows_), z).between(own, q_));
  within_target_ = mean_within(q_, Vector(kernel_times(z, z, width_, q_)));
}

Vector Discrepancy::towards(const Clouds& clouds) const {
  if (!clouds.measured())
    return kernel_times(clouds.shard.rows_of(clouds.x, rows_), clouds.z(columns_, Eigen::all),
                        width_, q_);
  Matrix kernel = clouds.zx();
  gaussian(kernel, width_);
  return kernel.transpose() * q_;
}

Matrix Discrepancy::within_times(const Clouds& clouds, const Matrix& weights) const {
  if (!clouds.measured()) {
    const Matrix x = clouds.shard.rows_of(clouds.x, rows_);
    return kernel_times(x, x, width_, weights);
  }
  Matrix product(weights.rows(), weights.cols());
  for (Index k = 0; k < weights.cols(); ++k)
    product.col(k) = within_source_.selfadjointView<Eigen::Upper>() * Vector(weights.col(k));
  return product;
}

std::vector<double> Discrepancy::operator()(const Clouds& clouds,
                                            const std::vector<Vector>& weights) const {
  Matrix chosen(static_cast<Index>(rows_.size()), static_cast<Index>(weights.size()));
  for (Index k = 0; k < chosen.cols(); ++k)
    chosen.col(k) = normalised(weights[static_cast<std::size_t>(k)], rows_, clouds.shard);
  const Vector towards = this->towards(clouds);
  const Matrix within = within_times(clouds, chosen);
  std::vector<double> values;
  for (Index k = 0; k < chosen.cols(); ++k) {
    const Vector w = chosen.col(k);
    values.push_back(mean_within(w, Vector(within.col(k))) + within_target_ - 2 * w.dot(towards));
  }
  return values;
}

Discrepancy::Classes Discrepancy::classes(const Clouds& clouds, const ClassProblem& problem) const {
  const Index k = problem.class_count();
  Classes found{Matrix::Zero(static_cast<Index>(rows_.size()), k), {}};
  Vector same(k);
  for (Index c = 0; c < k; ++c) {
    const Vector all = problem.shard.everywhere(problem.p.cwiseProduct(problem.members.col(c)));
    const Vector chosen = all(rows_);
    if (chosen.sum() > 0) found.weights.col(c) = chosen / chosen.sum();
    same[c] = found.weights.col(c).squaredNorm();
  }
  found.within = found.weights.transpose() * within_times(clouds, found.weights);
  for (Index c = 0; c < k; ++c) {
    double& own = found.within(c, c);
    own = same[c] > 0 && same[c] < 1 - 1e-12 ? (own - same[c]) / (1 - same[c]) : 1;
  }
  return found;
}

Discrepancy::Mixture Discrepancy::nearest_mixture(const Clouds& clouds,
                                                  const Classes& classes) const {
  Vector near = classes.weights.transpose() * towards(clouds);
  for (Index c = 0; c < near.size(); ++c)  // a class of which no point is compared gets no share
    if (!(classes.weights.col(c).sum() > 0)) near[c] = -1;
  Mixture found{minimise_over_shares(classes.within, near), 0};
  found.discrepancy =
      found.shares.dot(classes.within * found.shares) + within_target_ - 2 * found.shares.dot(near);
  return found;
}

}  // namespace remblai
