// All methods on one problem, side by side: what `demo` and `compare` show.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "remblai/baseline.h"
#include "remblai/diagnosis.h"
#include "remblai/evaluate.h"
#include "remblai/fit.h"
#include "remblai/predict.h"

namespace remblai::cli {

/// A way to label target points: a classifier of the source alone, or a fit and a rule.
struct Contender {
  const char* key;
  const char* title;
  std::optional<Baseline> baseline = {};
  Method method = Method::paper;
  MetricChoice metric = MetricChoice::learned;
  Rule rule = Rule::automatic;
};

extern const Contender no_adaptation, logistic, kernel_ridge, kernel_ridge_shares, ot_identity,
    ot_w, ot_w_inverse, paper_method, class_aware, class_aware_map;

/// What a contender made of the points.
struct Entry {
  Contender contender;
  Labels labels;  ///< none of a fit that diverged
  double seconds = 0;
  Status status{Outcome::converged};
  std::optional<double> reliability = {};
  Diagnosis diagnosis = {};  ///< where there is a reliability
  std::vector<Warning> warnings = {};
};

/// A model, and how long its fit took.
struct TimedModel {
  Model model = {};
  double seconds = 0;
};

/// Labels `points`. The options are those of every fit but for method, metric and prior; those of
/// the class-aware method keep its own lambda, and it alone reads the class options. A fit goes to
/// `fitted`; one that is there already, of the same method and metric, answers again, and its time
/// counts again.
Entry run_contender(const Contender& contender, const Problem& problem, const MatrixView& points,
                    const Options& options, const Callback& callback, TimedModel& fitted);

/// The score, which is unknown where there are no labels.
Score score_of(const Entry& entry, const Labels& truth, const Labels& source = {});

}  // namespace remblai::cli
