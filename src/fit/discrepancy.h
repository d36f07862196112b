// How far a weighted source is from the target: the maximum mean discrepancy.
#pragma once

#include <vector>

#include "remblai/types.h"

namespace remblai {

/// Squared maximum mean discrepancies between weighted source points and target points, with a
/// Gaussian kernel of 0.8 times their mean squared distance, for several places of the source. The
/// diagonals are left out, which takes away the bias. Of large sets so many points are looked at:
inline constexpr Index most_compared = 4000;

class Discrepancy {
 public:
  /// Points in coordinates in which Euclidean distances are meant; q weighs the target points.
  Discrepancy(const Matrix& x, const Matrix& z, const Vector& q);

  /// One value for each set of source weights, which sum to 1, after moving all source points by
  /// `shift`.
  std::vector<double> operator()(const Eigen::RowVectorXd& shift, const Vector& p,
                                 const std::vector<Vector>& weights) const;

 private:
  std::vector<Index> rows_, columns_;
  Matrix x_, z_;
  Vector q_;
  Matrix within_x_, within_z_;
};

}  // namespace remblai
