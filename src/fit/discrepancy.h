// How far a weighted source is from the target: the maximum mean discrepancy.
#pragma once

#include <vector>

#include "fit/clouds.h"

namespace remblai {

/// Squared maximum mean discrepancies between weighted source points and target points. The kernel
/// is Gaussian, its width 0.8 times the mean squared distance between clouds of one mean: values
/// can be compared only under one kernel. The diagonals are left out, which takes away the bias. Of
/// large sets so many points are looked at, and kernels are made some rows at a time where the
/// distances are not at hand:
inline constexpr Index most_compared = most_measured;

class Discrepancy {
 public:
  /// Clouds whose means are one, by the weights p and q.
  Discrepancy(const Clouds& centred, const Vector& p, const Vector& q);

  /// Of the same clouds, wherever they lie: one value for each set of source weights, which sum to
  /// 1 over all ranks.
  std::vector<double> operator()(const Clouds& clouds, const std::vector<Vector>& weights) const;

 private:
  std::vector<double> by_blocks(const Clouds& clouds, const Matrix& weights) const;

  std::vector<Index> rows_, columns_;  // of the points compared; rows among those of all ranks
  Vector q_;
  double width_ = 1, within_target_ = 1;
  Matrix within_source_;  // kernel, its upper triangle; empty where distances are not kept
};

}  // namespace remblai
