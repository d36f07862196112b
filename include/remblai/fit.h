// The method: plan and metric are learned together by alternation, or a plan for a fixed metric.
#pragma once

#include <functional>

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

/// Where a running fit stands. `record` is set once for each step, when the step is complete. In
/// between, during long transport solves, it is null and the inner fields move.
struct Progress {
  int step = 0;   ///< the step that runs or has just finished, from 1
  int steps = 0;  ///< the most that there can be
  int inner_iterations = 0;
  double marginal_error = 0;
  double seconds = 0;  ///< since fit began
  const Step* record = nullptr;
};

/// Is called with the progress of a fit. It returns false to stop the run; the model then holds the
/// state that was reached.
using Callback = std::function<bool(const Progress&)>;

/// Fits a model. Throws Error on input that cannot be used. Trouble with the numbers is never
/// thrown; it is in Model::status.
///
/// `start` is a model of the same points, weights and preprocessing, whatever its other options.
/// The first metric then comes from its plan instead of the independent coupling or that of the
/// seed. The problem stays the same, and so do the units of a relative lambda and of the ridge.
///
/// With Resources::comm the source of `problem` has the points of this rank, and so have `start`
/// and the model that is returned.
REMBLAI_API Model fit(const Problem& problem, const Options& options = {},
                      const Callback& callback = {}, const Model* start = nullptr);

}  // namespace remblai
