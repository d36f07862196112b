// An experiment: its tasks, where their points come from, and what the paper says of them. Running
// it is a loop over the tasks that can stop at any moment and go on later.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "methods.h"

namespace remblai::experiments {

class Journal;

struct Task {
  std::string row;   ///< of the table: the skew, or the task itself
  std::string name;  ///< unique together with the seed
  int seed = 0;
  std::string data;  ///< fingerprint of the points it is drawn from
};

struct Experiment {
  std::string title;                 ///< of the table
  std::string row_heading;           ///< what a row is
  std::vector<Task> tasks;           ///< in the order of the table
  std::vector<std::string> missing;  ///< sentences on tasks that cannot run
  std::vector<std::string> files;    ///< that were read
  std::function<Split(const Task&)> draw;
  /// The paper's accuracy in percent for a row (or "average") and a method.
  std::function<std::optional<double>(const std::string&, const std::string&)> published;
  std::size_t published_rows = 0;  ///< in the paper's table, whose average is over them
  std::string published_note;      ///< where a row of ours is not the same as the paper's
};

struct MnistSelection {
  std::vector<int> skews{10, 20, 30, 40, 50};
  std::vector<int> absent =
      {};  ///< rows more: so many digits, drawn at random, have no target point
  std::vector<int> digits{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  int seeds = 5;
};

/// Reads DATA/mnist. Throws Error on a selection out of range.
Experiment mnist_experiment(const std::string& data, const MnistSelection& selection);

struct OfficeCaltechSelection {
  std::string features = "decaf6";  ///< under DATA/office-caltech, or a path with a slash
  std::vector<std::string> tasks;   ///< empty: all twelve
  int seeds = 5;
};

/// Reads DATA/office-caltech/FEATURES. Throws Error on a task that does not exist, when no task can
/// run, and when a class of a source has too few points.
Experiment office_caltech_experiment(const std::string& data,
                                     const OfficeCaltechSelection& selection);

/// Throws Error where these resources ask for a GPU that is not there.
void require_device(const Resources& resources);

/// Called from the loop with the number of tasks done, and now and then without news; false stops.
using TaskProgress = std::function<bool(std::size_t done)>;

/// Runs the tasks that the journal does not have, `jobs` at a time, and appends each to it as soon
/// as it is done. False when it was stopped. What comes out does not depend on `jobs`.
bool run_tasks(const Experiment& experiment, const Settings& settings, int jobs, Journal& journal,
               const TaskProgress& progress);

}  // namespace remblai::experiments
