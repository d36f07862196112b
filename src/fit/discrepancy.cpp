// Kernel means, without the diagonals.
#include "fit/discrepancy.h"

#include "fit/kernel_ridge.h"
#include "model/gaussian.h"

namespace remblai {
namespace {

Vector normalised(const Vector& weights, const std::vector<Index>& places) {
  const Vector chosen = weights(places);
  return chosen / chosen.sum();
}

// Mean kernel between two different points; 1 where there is only one.
double mean_within(const Matrix& kernel, const Vector& weights) {
  const double same = weights.squaredNorm();
  return same < 1 - 1e-12 ? (weights.dot(kernel * weights) - same) / (1 - same) : 1;
}

Matrix kernel(Matrix distances, double width) {
  gaussian(distances, width);
  return distances;
}

}  // namespace

Discrepancy::Discrepancy(const Matrix& x, const Matrix& z, const Vector& p, const Vector& q)
    : rows_(even_sample(x.rows(), most_compared)),
      columns_(even_sample(z.rows(), most_compared)),
      z_(z(columns_, Eigen::all)),
      shift_(q.transpose() * z - p.transpose() * x),
      q_(normalised(q, columns_)) {
  x_ = x(rows_, Eigen::all).rowwise() + shift_;
  const double mean = normalised(p, rows_).dot(squared_distances(x_, z_) * q_);
  if (mean > 0) width_ = 0.8 * mean;
  within_source_ = kernel(squared_distances(x_), width_);
  within_target_ = mean_within(kernel(squared_distances(z_), width_), q_);
}

std::vector<double> Discrepancy::operator()(bool translated,
                                            const std::vector<Vector>& weights) const {
  const Matrix across =
      translated ? squared_distances(x_, z_) : squared_distances(x_.rowwise() - shift_, z_);
  const Vector towards = kernel(across, width_) * q_;
  std::vector<double> values;
  for (const Vector& all : weights) {
    const Vector w = normalised(all, rows_);
    values.push_back(mean_within(within_source_, w) + within_target_ - 2 * w.dot(towards));
  }
  return values;
}

}  // namespace remblai
