// Kernel means, without the diagonals.
#include "fit/discrepancy.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "fit/kernel_ridge.h"
#include "model/gaussian.h"

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

// Mean kernel between two different points, from its upper triangle; 1 where there is only one.
double mean_within(const Matrix& kernel, const Vector& weights) {
  const double same = weights.squaredNorm();
  if (!(same < 1 - 1e-12)) return 1;
  const Vector mean = kernel.selfadjointView<Eigen::Upper>() * weights;
  return (weights.dot(mean) - same) / (1 - same);
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
  const double mean = q_.dot(across(centred) * normalised(p, rows_, centred.shard));
  if (mean > 0) width_ = 0.8 * mean;
  const auto among = [](const Matrix& points, const std::vector<Index>& places,
                        const Shard& shard) {
    return squared_distances(shard.rows_of(points, places));
  };
  const bool measured = centred.measured();
  const Matrix xx = measured ? centred.xx() : among(centred.x, rows_, centred.shard);
  const Matrix zz = measured ? centred.zz() : among(centred.z, columns_, {});
  within_source_ = upper_gaussian(xx, width_);
  within_target_ = mean_within(upper_gaussian(zz, width_), q_);
}

Matrix Discrepancy::across(const Clouds& clouds) const {
  if (clouds.measured()) return clouds.zx();
  return squared_distances(clouds.z(columns_, Eigen::all), clouds.shard.rows_of(clouds.x, rows_));
}

Vector Discrepancy::towards(const Clouds& clouds) const {
  Matrix kernel = across(clouds);
  gaussian(kernel, width_);
  return kernel.transpose() * q_;
}

std::vector<double> Discrepancy::operator()(const Clouds& clouds,
                                            const std::vector<Vector>& weights) const {
  const Vector towards = this->towards(clouds);
  std::vector<double> values;
  for (const Vector& all : weights) {
    const Vector w = normalised(all, rows_, clouds.shard);
    values.push_back(mean_within(within_source_, w) + within_target_ - 2 * w.dot(towards));
  }
  return values;
}

Discrepancy::Classes Discrepancy::classes(const ClassProblem& problem) const {
  const Index k = problem.class_count();
  Classes found{Matrix::Zero(static_cast<Index>(rows_.size()), k), {}};
  Vector same(k);
  for (Index c = 0; c < k; ++c) {
    const Vector all = problem.shard.everywhere(problem.p.cwiseProduct(problem.members.col(c)));
    const Vector chosen = all(rows_);
    if (chosen.sum() > 0) found.weights.col(c) = chosen / chosen.sum();
    same[c] = found.weights.col(c).squaredNorm();
  }
  const Matrix means = within_source_.selfadjointView<Eigen::Upper>() * found.weights;
  found.within = found.weights.transpose() * means;
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
