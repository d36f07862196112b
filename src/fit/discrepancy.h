// How far a weighted source is from the target: the maximum mean discrepancy.
#pragma once

#include <vector>

#include "remblai/types.h"

namespace remblai {

/// Squared maximum mean discrepancies between weighted source points and target points, as they
/// are and after a translation that brings the mean of the source to that of the target. The
/// kernel is Gaussian, its width 0.8 times the mean squared distance after the translation: values
/// can be compared only under one kernel. The diagonals are left out, which takes away the bias. Of
/// large sets so many points are looked at:
inline constexpr Index most_compared = 4000;

class Discrepancy {
 public:
  /// Embedded points; p and q weigh them.
  Discrepancy(const Matrix& x, const Matrix& z, const Vector& p, const Vector& q);

  /// One value for each set of source weights, which sum to 1.
  std::vector<double> operator()(bool translated, const std::vector<Vector>& weights) const;

 private:
  std::vector<Index> rows_, columns_;
  Matrix x_, z_;  // the points compared, those of the source translated
  Eigen::RowVectorXd shift_;
  Vector q_;
  double width_ = 1, within_target_ = 1;
  Matrix within_source_;  // kernel
};

}  // namespace remblai
