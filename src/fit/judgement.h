// What a classifier of the source says of the target, and how far it can be trusted.
#pragma once

#include "fit/class_problem.h"
#include "fit/classifier_fit.h"

namespace remblai {

struct Judgement {
  Classifier classifier;
  Matrix posterior;       ///< n x K, under the class shares of the source
  double unit = 1;        ///< mean squared distance between source and target points
  double left_out = 0;    ///< leave-one-out accuracy on the labelled points
  double round_trip = 0;  ///< share of source labels that come back right from the target
};

/// The mean squared distance between embedded source and target points; some positive number where
/// all are one point.
double mean_cost(const ClassProblem& problem, const Matrix& x, const Matrix& z);

/// A classifier on source points x (and the target points of known label), its opinion on the
/// target points z, and the way back. Points are embedded. O(m^3 + n^3) up to as many points as
/// there are landmarks.
Judgement judge(const ClassProblem& problem, const Matrix& x, const Matrix& z,
                const ClassOptions& options);

}  // namespace remblai
