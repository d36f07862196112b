// What a classifier of the source says of the target, and how far it can be trusted.
#pragma once

#include "fit/class_problem.h"
#include "fit/classifier_fit.h"
#include "fit/clouds.h"

namespace remblai {

struct Judgement {
  Classifier classifier;
  Matrix posterior;       ///< n x K, under the class shares of the source
  double unit = 1;        ///< mean squared distance between source and target points
  double left_out = 0;    ///< leave-one-out accuracy on the labelled points
  double round_trip = 0;  ///< share of source labels that come back right from the target
};

/// A classifier on the source points (and the target points of known label), its opinion on the
/// target points, and the way back. O(m^3 + n^3) up to as many points as there are landmarks.
Judgement judge(const ClassProblem& problem, const Clouds& clouds, const ClassOptions& options,
                const Pulse& pulse = {});

}  // namespace remblai
