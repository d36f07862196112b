// What a run needs to go on after it was killed, and the file that keeps it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "fit/class_step.h"
#include "fit/metric_learner.h"
#include "remblai/domain.h"
#include "remblai/fit.h"

namespace remblai {

/// A run between two outer steps. The same bits follow from it as from the run itself.
struct RunState {
  std::vector<Step> history;
  double best = 0;   ///< upper bound of the lowest objective
  Matrix moment;     ///< that the next metric is made from
  Matrix distances;  ///< that the next step is compared with
  Vector g;          ///< potentials that the next plan starts from
  MetricLearner::State learner;
  std::optional<ClassStep::State> classes;
};

/// What stands for the source points of all ranks in a fingerprint: sums over those of positive
/// weight, which have the same bits for any number of ranks, plain and with weights that change
/// from row to row.
Domain summary_of(const Domain& source, const Space& space);

/// The problem, the options but for where the work is done, and the model to start from where there
/// is one, as a short text: two runs with the same one come to the same result.
std::string fingerprint(const Domain& source, const Domain& target, const Labels& known_labels,
                        const Options& options, const Model* start);

/// The file of a run. Trouble with writing it is told once and does not stop the run.
class CheckpointFile {
 public:
  /// `ranks`: the fingerprint is one of several processes, which is none of one process.
  CheckpointFile(const Checkpoint& settings, std::string fingerprint, bool ranks = false);

  /// What an earlier run left, where the settings ask for that and it is there. Throws Error when
  /// it belongs to another problem or is damaged.
  std::optional<RunState> load();

  /// Steps that take less than Checkpoint::pause are not all written.
  void save(RunState state);

  /// Writes the last state, if that is not in the file: the run has been stopped.
  void flush();

  /// Time for the potentials of a plan that takes long.
  bool due() const;

  /// The last state that was saved, with these potentials. From there the result is the same up to
  /// the tolerances.
  void save_potentials(const Vector& g);

 private:
  void write();
  double age() const;  // of the file, in seconds

  Checkpoint settings_;
  std::string fingerprint_;
  RunState last_;
  bool begun_ = false, fresh_ = false, told_ = false;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
};

}  // namespace remblai
