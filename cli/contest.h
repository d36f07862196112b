// All methods on one problem, side by side: what `demo` and `compare` show.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "remblai/baseline.h"
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
  Labels labels;
  double seconds = 0;
  Status status{Outcome::converged};
  std::optional<double> reliability = {};
};

/// Labels `points`. The options are those of every fit but for method, metric and prior; those of
/// the class-aware method keep its own lambda. A fit goes to `model` where that is not null; one
/// that is there already, of the same method and metric, answers again.
Entry run_contender(const Contender& contender, const Problem& problem, const MatrixView& points,
                    const Options& options, const Callback& callback, Model* model);

/// The share of points on which two labellings agree.
double agreement(const Labels& a, const Labels& b);

}  // namespace remblai::cli
