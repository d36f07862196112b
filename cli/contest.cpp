// One method after another on the same points.
#include "contest.h"

#include "progress.h"

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
                    const Options& options, const Callback& callback, Model* model) {
  const Stopwatch watch;
  Entry entry;
  entry.contender = contender;
  if (contender.baseline) {
    entry.labels = baseline_labels(*contender.baseline, problem, points, options);
    entry.seconds = watch.seconds();
    return entry;
  }
  Options own = options;
  own.method = contender.method;
  own.metric = contender.metric;
  own.prior = PriorChoice::automatic;
  if (contender.method == Method::class_aware) own.lambda = by_method;
  Model made;
  Model& used = model ? *model : made;
  const bool at_hand = used.source.size() > 0 && used.options.method == own.method &&
                       used.options.metric == contender.metric;
  if (!at_hand) used = fit(problem, own, callback);
  entry.status = used.status;
  if (used.classes) entry.reliability = used.classes->reliability;
  if (used.status.outcome != Outcome::diverged)
    entry.labels = predict(used, points, {.rule = contender.rule});
  entry.seconds = watch.seconds();
  return entry;
}

double agreement(const Labels& a, const Labels& b) {
  if (a.size() == 0 || a.size() != b.size()) return 0;
  return static_cast<double>((a.array() == b.array()).count()) / static_cast<double>(a.size());
}

}  // namespace remblai::cli
