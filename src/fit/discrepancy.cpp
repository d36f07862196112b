// Kernel means, without the diagonals.
#include "fit/discrepancy.h"

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

std::vector<double> Discrepancy::operator()(const Clouds& clouds,
                                            const std::vector<Vector>& weights) const {
  Matrix chosen(static_cast<Index>(rows_.size()), static_cast<Index>(weights.size()));
  for (Index k = 0; k < chosen.cols(); ++k)
    chosen.col(k) = normalised(weights[static_cast<std::size_t>(k)], rows_, clouds.shard);
  if (!clouds.measured()) return by_blocks(clouds, chosen);
  Matrix kernel = clouds.zx();
  gaussian(kernel, width_);
  const Vector towards = kernel.transpose() * q_;
  std::vector<double> values;
  for (const Vector w : chosen.colwise())
    values.push_back(mean_within_upper(w, within_source_) + within_target_ - 2 * w.dot(towards));
  return values;
}

std::vector<double> Discrepancy::by_blocks(const Clouds& clouds, const Matrix& weights) const {
  const Matrix x = clouds.shard.rows_of(clouds.x, rows_);
  const Vector towards = kernel_times(x, clouds.z(columns_, Eigen::all), width_, q_);
  const Matrix within = kernel_times(x, x, width_, weights);
  std::vector<double> values;
  for (Index k = 0; k < weights.cols(); ++k) {
    const Vector w = weights.col(k);
    values.push_back(mean_within(w, Vector(within.col(k))) + within_target_ - 2 * w.dot(towards));
  }
  return values;
}

}  // namespace remblai
