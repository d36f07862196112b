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

// Of source points, whose rows may be divided; places are among those of all ranks.
Vector normalised(const Vector& weights, const std::vector<Index>& places, const Shard& shard) {
  return normalised(shard.everywhere(weights), places);
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

Discrepancy::Discrepancy(const Clouds& centred, const Vector& p, const Vector& q)
    : rows_(even_sample(centred.shard.total(centred.x.rows()), most_compared)),
      columns_(even_sample(centred.z.rows(), most_compared)),
      q_(normalised(q, columns_)) {
  const double mean = q_.dot(across(centred) * normalised(p, rows_, centred.shard));
  if (mean > 0) width_ = 0.8 * mean;
  const auto within = [&](const Matrix& points, const std::vector<Index>& places,
                          const Matrix& distances, const Shard& shard) {
    return kernel(distances.size() ? distances : squared_distances(shard.rows_of(points, places)),
                  width_);
  };
  within_source_ = within(centred.x, rows_, centred.xx, centred.shard);
  within_target_ = mean_within(within(centred.z, columns_, centred.zz, {}), q_);
}

Matrix Discrepancy::across(const Clouds& clouds) const {
  if (clouds.measured()) return clouds.zx;
  return squared_distances(clouds.z(columns_, Eigen::all), clouds.shard.rows_of(clouds.x, rows_));
}

std::vector<double> Discrepancy::operator()(const Clouds& clouds,
                                            const std::vector<Vector>& weights) const {
  const Vector towards = kernel(across(clouds), width_).transpose() * q_;
  std::vector<double> values;
  for (const Vector& all : weights) {
    const Vector w = normalised(all, rows_, clouds.shard);
    values.push_back(mean_within(within_source_, w) + within_target_ - 2 * w.dot(towards));
  }
  return values;
}

}  // namespace remblai
