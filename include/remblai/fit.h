// The method: plan and metric learned together by alternation (or a plan for a fixed metric).
#pragma once

#include <functional>

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

/// Where a running fit stands. `record` is set once a step, when it is complete; between steps, in
/// long transport solves, it is null and the inner fields move.
struct Progress {
  int step = 0;   ///< running or just finished, from 1
  int steps = 0;  ///< most there can be
  int inner_iterations = 0;
  double marginal_error = 0;
  double seconds = 0;  ///< since fit began
  const Step* record = nullptr;
};

/// Returns false to stop the run; the model then holds the state reached.
using Callback = std::function<bool(const Progress&)>;

/// Throws Error on input that cannot be used. Trouble with the numbers is in Model::status.
///
/// `start` is a model of the same points, weights and preprocessing, whatever its other options:
/// the first metric then comes from its plan instead of the independent coupling, or that of the
/// seed. The problem stays the same, the unit of a relative lambda and of the ridge included.
REMBLAI_API Model fit(const Problem& problem, const Options& options = {},
                      const Callback& callback = {}, const Model* start = nullptr);

}  // namespace remblai
