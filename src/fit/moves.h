// How far the source points of each class are moved towards the target.
#pragma once

#include "fit/class_problem.h"
#include "fit/metric_learner.h"

namespace remblai {

struct Moves {
  double common_trust = 0;  ///< t0: how much of the common move is kept
  Vector trust;             ///< t_k: how much of each class's own move is kept
  Matrix by_class;          ///< t0 common + t_k rest_k, K x r, in the coordinates of the space
};

/// `displacements` are B_i - x_i of the source points, B_i being where the plan sends them, in the
/// coordinates of the space. `noise` is the mean squared distance of source points to their class
/// mean, in the metric. The mean displacement of a class is split into what all classes have in
/// common and the rest, and each part is shrunk by what chance alone would give (positive-part
/// James-Stein). `belief` says of each class how far the points that it lands on are taken for it,
/// in [0, 1]: a class that is absent from the target lands on others, which is no move of its own.
/// Below one half it takes away from the trust in proportion.
Moves class_moves(const ClassProblem& problem, const Matrix& displacements, const Vector& shares,
                  const Vector& belief, double noise, const MetricLearner& metric);

}  // namespace remblai
