// The method: plan and metric learned together by alternation (or a plan for a fixed metric).
#pragma once

#include <functional>

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
Model fit(const Problem& problem, const Options& options = {}, const Callback& callback = {});

}  // namespace remblai
