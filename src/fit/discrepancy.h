// How far a weighted source is from the target: the maximum mean discrepancy.
#pragma once

#include <vector>

#include "fit/class_problem.h"
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
  /// The class shares under which the source is nearest to the target, and how near that is.
  struct Mixture {
    Vector shares;
    double discrepancy = 0;
  };

  /// What mixtures of the same classes share.
  struct Classes {
    Matrix weights;  ///< of the source points compared: a column for each class, which sums to 1
    Matrix within;   ///< mean kernel between the points of two classes, K x K
  };

  /// Clouds whose means are one, by the weights p and q.
  Discrepancy(const Clouds& centred, const Vector& p, const Vector& q);

  /// Of the same clouds, wherever they lie: one value for each set of source weights, which sum to
  /// 1 over all ranks.
  std::vector<double> operator()(const Clouds& clouds, const std::vector<Vector>& weights) const;

  Classes classes(const Clouds& clouds, const ClassProblem& problem) const;

  /// Of the same clouds. No classifier is asked: the kernel alone tells how much of each class it
  /// takes.
  Mixture nearest_mixture(const Clouds& clouds, const Classes& classes) const;

 private:
  // Of the points compared: the mean kernel of each source point to the target, and the kernel of
  // the source times some weights of it.
  Vector towards(const Clouds& clouds) const;
  Matrix within_times(const Clouds& clouds, const Matrix& weights) const;

  std::vector<Index> rows_, columns_;  // of the points compared; rows among those of all ranks
  Vector q_;
  double width_ = 1, within_target_ = 1;
  Matrix within_source_;  // kernel, its upper triangle; empty where distances are not kept
};

}  // namespace remblai
