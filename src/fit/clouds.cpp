// Distances of two clouds, and what a translation changes in them.
#include "fit/clouds.h"

#include <algorithm>
#include <utility>

#include "base/linalg.h"
#include "transport/ground_cost.h"

namespace remblai {
namespace {

// Each cloud is measured from its own mean, so where they lie costs no digits. With u = z - mean z,
// v = x - mean x and w = mean z - mean x:
//   |z - x|^2 = |u + w|^2 + |v - w|^2 - |w|^2 - 2 u.v.
Matrix measure(const Matrix& x, const Matrix& z) {
  const Index m = x.rows(), n = z.rows();
  const Eigen::RowVectorXd x_mean = x.colwise().mean(), z_mean = z.colwise().mean();
  const Eigen::RowVectorXd apart = z_mean - x_mean;
  Matrix points(n + m, x.cols());
  points.topRows(n) = z.rowwise() - z_mean;
  points.bottomRows(m) = x.rowwise() - x_mean;
  const Eigen::RowVectorXd along = 2 * (points * apart.transpose()).transpose();
  Matrix distances = linalg::upper_gram_of_rows(points);
  const Eigen::RowVectorXd squares = distances.diagonal();
  const Eigen::RowVectorXd of_x = squares.tail(m) - along.tail(m);
  const auto from = [](auto part, const auto& others, double own) {
    part = (others.array() + own - 2 * part.array()).max(0.0);
  };
  for (Index i = 0; i < n + m; ++i) {
    auto row = distances.row(i);
    const Index end = i < n ? n : n + m;  // of its own cloud
    from(row.segment(i, end - i), squares.segment(i, end - i), squares[i]);
    if (i < n) from(row.tail(m), of_x, squares[i] + along[i] + apart.squaredNorm());
    row[i] = 0;
  }
  return distances;
}

}  // namespace

Clouds::Clouds(Matrix source, Matrix target, Shard source_rows, double budget)
    : x(std::move(source)), z(std::move(target)), shard(std::move(source_rows)) {
  const Index points = x.rows() + z.rows();
  if (shard.divided() || points > most_measured) return;
  if (measured_bytes(static_cast<double>(points)) > budget) return;
  distances = measure(x, z);
}

// |z - x - s|^2 = |z - x|^2 + 2 x.s - 2 z.s + |s|^2.
Clouds Clouds::translated(const Eigen::RowVectorXd& shift) const {
  Clouds moved = *this;
  moved.x.rowwise() += shift;
  if (!measured()) return moved;
  const Eigen::RowVectorXd middle = x.colwise().mean();
  const Vector from_x = (x.rowwise() - middle) * shift.transpose();
  const Vector from_z = (z.rowwise() - middle) * shift.transpose();
  auto between = moved.distances.topRightCorner(z.rows(), x.rows());
  between.rowwise() += 2 * from_x.transpose();
  between.colwise() -= 2 * from_z;
  between = (between.array() + shift.squaredNorm()).max(0.0);
  return moved;
}

double Clouds::mean_distance(const Vector& p, const Vector& q) const {
  const double mean =
      measured() ? q.dot(zx() * p) : GroundCost::between_points(x, z, shard).between(p, q);
  // Rounding is no distance: where the points of both clouds are one, any unit will do.
  const auto largest = [](const Matrix& points) -> Vector {
    return points.cwiseAbs2().rowwise().maxCoeff();
  };
  const double size = std::max(shard.largest(largest(x)), largest(z).maxCoeff());
  return mean > 1e-24 * size ? mean : size > 0 ? size : 1;
}

}  // namespace remblai
