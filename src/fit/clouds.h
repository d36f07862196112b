// The embedded points of both domains, and the distances among them that the parts of a judgement
// share.
#pragma once

#include <limits>

#include "base/shard.h"

namespace remblai {

/// Distances are measured once and kept up to so many points in all.
inline constexpr Index most_measured = 4000;

/// The bytes that measured clouds take at the peak: their distances, those after a translation, and
/// parts of them for classifiers and discrepancies.
inline double measured_bytes(double points) {
  return 3 * 8 * points * points;
}

struct Clouds {
  Matrix x, z;  ///< source and target points
  Shard shard;  ///< of the source points

  /// Squared distances among the target points and, behind them, the source points: the upper
  /// triangle. Empty where there are too many points or several ranks, or where they do not fit the
  /// budget, and whoever needs some measures them as it goes.
  Matrix distances;
  auto zz() const { return distances.topLeftCorner(z.rows(), z.rows()); }
  auto xx() const { return distances.bottomRightCorner(x.rows(), x.rows()); }
  auto zx() const { return distances.topRightCorner(z.rows(), x.rows()); }  ///< all of it

  /// `budget` is the bytes that there are for measured clouds.
  Clouds(Matrix source, Matrix target, Shard source_rows = {},
         double budget = std::numeric_limits<double>::infinity());

  bool measured() const { return distances.size() > 0; }

  /// The same with other source points, each of them `shift` further. O(m n) where the distances
  /// are at hand. Digits are lost where the clouds come nearer to each other by this.
  Clouds translated(const Eigen::RowVectorXd& shift) const;

  /// sum_ij p_i q_j |x_i - z_j|^2; some positive number where all points are one.
  double mean_distance(const Vector& p, const Vector& q) const;
};

}  // namespace remblai
