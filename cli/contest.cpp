// One method after another on the same points.
#include "contest.h"

#include "progress.h"
#include "remblai/estimate.h"

namespace remblai::cli {

const Contender no_adaptation{"none", "no adaptation: nearest source point", Baseline::nearest};
const Contender logistic{"logistic", "source only: logistic regression", Baseline::logistic};
const Contender kernel_ridge{"kernel-ridge", "source only: kernel ridge", Baseline::kernel_ridge};
const Contender kernel_ridge_shares{"kernel-ridge-shares", "kernel ridge, shares estimated",
                                    Baseline::kernel_ridge_shares};
const Contender ot_identity{
    "ot-identity", "transport, Euclidean metric (OT_I)", {}, Method::paper, MetricChoice::identity};
const Contender ot_w{"ot-w", "transport, metric W (OT_W)", {}, Method::paper, MetricChoice::w};
const Contender ot_w_inverse{
    "ot-w-inverse", "transport, metric W^-1 (OT_W^-1)", {}, Method::paper, MetricChoice::w_inverse};
const Contender paper_method{"learned", "transport and metric learned (paper)"};
const Contender class_aware{"class-aware", "class-aware", {}, Method::class_aware};
const Contender class_aware_map{"class-aware-map",   "class-aware, map + nearest", {},
                                Method::class_aware, MetricChoice::learned,        Rule::nearest};

Entry run_contender(const Contender& contender, const Problem& problem, const MatrixView& points,
                    const Options& options, const Callback& callback, TimedModel& fitted) {
  const Stopwatch watch;
  Entry entry;
  entry.contender = contender;
  const bool classes = contender.method == Method::class_aware;
  Options own = options;
  own.method = contender.method;
  own.metric = contender.metric;
  own.prior = PriorChoice::automatic;
  if (classes)
    own.lambda = by_method;
  else
    own.classes = {};
  if (contender.baseline) {
    entry.labels = baseline_labels(*contender.baseline, problem, points, own);
    entry.seconds = watch.seconds();
    return entry;
  }
  Model& model = fitted.model;
  const bool at_hand = model.source.size() > 0 && model.options.method == own.method &&
                       model.options.metric == contender.metric;
  if (!at_hand) {
    model = {};
    require_reach(problem, own);
    model = fit(problem, own, callback);
    fitted.seconds = watch.seconds();
  }
  entry.status = model.status;
  if (model.classes) {
    entry.reliability = model.classes->reliability;
    entry.diagnosis = diagnose(*model.classes);
  }
  entry.warnings = warnings(model);
  if (model.status.outcome != Outcome::diverged)
    entry.labels = predict(model, points, {.rule = contender.rule});
  entry.seconds = watch.seconds() + (at_hand ? fitted.seconds : 0);
  return entry;
}

Score score_of(const Entry& entry, const Labels& truth, const Labels& source) {
  return entry.labels.size() > 0 ? evaluate(entry.labels, truth, source) : Score();
}

}  // namespace remblai::cli
