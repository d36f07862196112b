// Distances of two clouds, and what a translation changes in them.
#include "fit/clouds.h"

#include <algorithm>
#include <utility>

#include "model/gaussian.h"
#include "transport/ground_cost.h"

namespace remblai {

Clouds::Clouds(Matrix source, Matrix target, Shard source_rows)
    : x(std::move(source)), z(std::move(target)), shard(std::move(source_rows)) {
  if (shard.divided() || x.rows() + z.rows() > most_measured) return;
  xx = squared_distances(x);
  zz = squared_distances(z);
  zx = squared_distances(z, x);
}

// |z - x - s|^2 = |z - x|^2 + 2 x.s - 2 z.s + |s|^2.
Clouds Clouds::translated(const Eigen::RowVectorXd& shift) const {
  Clouds moved = *this;
  moved.x.rowwise() += shift;
  if (!measured()) return moved;
  const Eigen::RowVectorXd middle = x.colwise().mean();
  const Vector from_x = (x.rowwise() - middle) * shift.transpose();
  const Vector from_z = (z.rowwise() - middle) * shift.transpose();
  moved.zx.rowwise() += 2 * from_x.transpose();
  moved.zx.colwise() -= 2 * from_z;
  moved.zx = (moved.zx.array() + shift.squaredNorm()).max(0.0);
  return moved;
}

double Clouds::mean_distance(const Vector& p, const Vector& q) const {
  const double mean =
      measured() ? q.dot(zx * p) : GroundCost::between_points(x, z, shard).between(p, q);
  // Rounding is no distance: where the points of both clouds are one, any unit will do.
  const double size = std::max(shard.largest(x.cwiseAbs2().reshaped()), z.cwiseAbs2().maxCoeff());
  return mean > 1e-24 * size ? mean : size > 0 ? size : 1;
}

}  // namespace remblai
