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

}  // namespace

Discrepancy::Discrepancy(const Matrix& x, const Matrix& z, const Vector& q)
    : rows_(even_sample(x.rows(), most_compared)), columns_(even_sample(z.rows(), most_compared)) {
  x_ = x(rows_, Eigen::all);
  z_ = z(columns_, Eigen::all);
  q_ = normalised(q, columns_);
  within_x_ = squared_distances(x_);
  within_z_ = squared_distances(z_);
}

std::vector<double> Discrepancy::operator()(const Eigen::RowVectorXd& shift, const Vector& p,
                                            const std::vector<Vector>& weights) const {
  Matrix across = squared_distances(x_.rowwise() + shift, z_);
  const double mean = normalised(p, rows_).dot(across * q_);
  const double width = mean > 0 ? 0.8 * mean : 1;
  Matrix within_x = within_x_, within_z = within_z_;
  gaussian(across, width);
  gaussian(within_x, width);
  gaussian(within_z, width);
  const Vector towards = across * q_;
  const double target = mean_within(within_z, q_);
  std::vector<double> values;
  for (const Vector& all : weights) {
    const Vector w = normalised(all, rows_);
    values.push_back(mean_within(within_x, w) + target - 2 * w.dot(towards));
  }
  return values;
}

}  // namespace remblai
