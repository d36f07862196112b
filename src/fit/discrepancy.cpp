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

// Mean kernel between two different points, from its upper triangle; 1 where there is only one.
double mean_within(const Matrix& kernel, const Vector& weights) {
  const double same = weights.squaredNorm();
  if (!(same < 1 - 1e-12)) return 1;
  const Vector mean = kernel.selfadjointView<Eigen::Upper>() * weights;
  return (weights.dot(mean) - same) / (1 - same);
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

std::vector<double> Discrepancy::operator()(const Clouds& clouds,
                                            const std::vector<Vector>& weights) const {
  Matrix kernel = across(clouds);
  gaussian(kernel, width_);
  const Vector towards = kernel.transpose() * q_;
  std::vector<double> values;
  for (const Vector& all : weights) {
    const Vector w = normalised(all, rows_, clouds.shard);
    values.push_back(mean_within(within_source_, w) + within_target_ - 2 * w.dot(towards));
  }
  return values;
}

}  // namespace remblai
