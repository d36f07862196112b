// The methods that an experiment compares, and what each does with one task: every fit of its grid,
// and the choice among them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "remblai/baseline.h"
#include "remblai/model.h"
#include "remblai/predict.h"
#include "split.h"

namespace remblai::experiments {

enum class Kind { source_only, exact, entropic, class_aware };

struct Method {
  const char* key;    ///< on the command line and in files
  const char* title;  ///< in tables
  Kind kind = Kind::entropic;
  MetricChoice metric = MetricChoice::identity;
  PriorChoice prior = PriorChoice::identity;
  bool tunes_ridge = false;  ///< along Settings::ridges, not at the ridge of the options
  Baseline baseline = Baseline::nearest;  ///< of the kind source_only
  Rule rule = Rule::head;                 ///< of the kind class_aware

  /// Its settings are chosen with the labels of the training half of the target.
  bool sees_labels() const { return kind == Kind::entropic; }
};

/// In the order of the tables.
std::span<const Method> all_methods();

/// Throws Error when there is none of that name.
const Method& method_named(const std::string& key);

struct Settings {
  std::vector<std::string> methods;  ///< keys, in the order of the tables
  std::vector<double> lambdas;       ///< tried by every entropic method, descending
  /// Tried by the methods that tune theirs, descending; a learned metric tries that of the options
  /// too.
  std::vector<double> ridges;
  /// Of every fit; lambda, metric, prior and threads are not read. Class-aware fits have their
  /// own defaults, and read preprocessing and class options alone.
  Options options;
  PredictOptions prediction;
};

/// One fit and what came of it.
struct Trial {
  std::string method;
  double lambda = 0;          ///< NaN without transport
  double ridge = 0;           ///< on C for a learned metric, on W for W and its inverse; else NaN
  double train_accuracy = 0;  ///< on the target points that were fitted, in [0, 1]; 0 if diverged
  double test_accuracy = 0;   ///< on those that were not
  int steps = 0;              ///< of the alternation
  int passes = 0;             ///< over the matrix, all steps together
  Outcome outcome = Outcome::converged;
  bool chosen = false;  ///< the best of its method on the training half
  double seconds = 0;   ///< a path that serves two methods counts in both
};

/// Every run of every method, in the order of the settings; empty when `stop` said so. Uses one
/// thread. Of each method the run with the highest accuracy on the training half is chosen; among
/// equals the most regular: the largest ridge, then the largest lambda.
std::optional<std::vector<Trial>> run_methods(const Split& split, const Settings& settings,
                                              const std::function<bool()>& stop);

}  // namespace remblai::experiments
