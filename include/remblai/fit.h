// The method: plan and metric are learned together by alternation, or a plan for a fixed metric.
#pragma once

#include <functional>
#include <string>

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

/// Where a running fit stands. `record` is set once for each step, when the step is complete. In
/// between, during long transport solves, it is null and the inner fields move. It is null, and
/// they are 0, while the classifiers of the class-aware method are made.
struct Progress {
  int step = 0;   ///< the step that runs or has just finished, from 1
  int steps = 0;  ///< the most that there can be
  int inner_iterations = 0;
  double marginal_error = 0;
  double seconds = 0;  ///< since fit began
  const Step* record = nullptr;
};

/// Is called with the progress of a fit. It returns false to stop the run; the model then holds the
/// state that was reached. A class-aware fit that is stopped makes its last classifier
/// nevertheless, unless that takes seconds and the answer is still false: then a simpler one
/// labels.
using Callback = std::function<bool(const Progress&)>;

/// A file that keeps the state of a fit, so that a run that was killed can go on from it. It is
/// written after each outer step, and now and then inside a plan that takes long: aside, brought to
/// the disk, then renamed.
struct Checkpoint {
  std::string path = {};  ///< a .npz file; empty: none is kept
  /// Goes on from the file where it is there. The model is then the one of a run that was never
  /// interrupted, bit for bit when the last state came from the end of a step, and up to the
  /// tolerances when it came from inside a plan. Throws Error when the file belongs to other data
  /// or options.
  bool resume = false;
  double interval = 60;  ///< seconds between two states of one plan
  double pause = 1;      ///< seconds, at least, between two states of short steps
  /// Is told once why the file cannot be written. The fit goes on.
  std::function<void(const Message&)> warn = {};
};

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
                      const Callback& callback = {}, const Model* start = nullptr,
                      const Checkpoint& checkpoint = {});

/// The same for a problem that nobody needs any more. Its points become those of the model, or are
/// freed, so that there is one copy less while the fit runs.
REMBLAI_API Model fit(Problem&& problem, const Options& options = {}, const Callback& callback = {},
                      const Model* start = nullptr, const Checkpoint& checkpoint = {});

}  // namespace remblai
