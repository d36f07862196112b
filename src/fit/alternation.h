// Algorithm 1: metric step and transport step in turn, until the distances settle.
#pragma once

#include <vector>

#include "fit/checkpoint.h"
#include "fit/class_step.h"
#include "fit/metric_learner.h"
#include "fit/planner.h"
#include "remblai/fit.h"

namespace remblai {

/// What the last step of a history tells of the metric: everything, or only what costs nothing. The
/// distance between two metrics, the condition and the residuals take about as long as the metric
/// step itself.
enum class Diagnostics { full, brief };

/// What a run of the alternation works on. All of it outlives the run.
struct Parts {
  const Space& space;
  const Options& options;
  MetricLearner& learner;
  Planner& planner;  ///< prepared for the lambda of the run; has the costs of a fixed metric
  ClassStep* classes = nullptr;  ///< of the class-aware method, explained; null: none
};

/// How a run begins and whom it tells.
struct RunSettings {
  double lambda = 0;     ///< absolute, in the units of the data
  const Matrix& moment;  ///< the first metric is made from it
  Diagnostics diagnostics = Diagnostics::full;
  const Callback& callback;           ///< may be empty
  CheckpointFile* file = nullptr;     ///< that keeps its state; null: none
  const RunState* resumed = nullptr;  ///< state to go on from, in place of the moment
};

/// What a run leaves behind, beside the metric and the plan that its parts hold.
struct Outcomes {
  std::vector<Step> history;
  bool planned = false;  ///< a step of this run is in it; without one there is no plan
  Status status;
  /// |A C A - D|_F / |D|_F with the moment of the last plan; NaN for a fixed metric and in brief.
  double fixed_point_residual = 0;
  Vector first_g;         ///< potentials of the first plan, where they are finite
  double lambda = 0;      ///< of the last plan, absolute
  double class_cost = 0;  ///< weight of the classifier's opinion in its cost, absolute
};

/// Runs to the end: settled, out of steps, stopped by the callback, or diverged. With tight plans
/// and the geodesic weight 1/2 the objective never rises.
Outcomes alternate(const Parts& parts, const RunSettings& run);

}  // namespace remblai
