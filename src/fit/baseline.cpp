// Source-only classifiers in the coordinates of the span.
#include "remblai/baseline.h"

#include "base/linalg.h"
#include "base/memory.h"
#include "fit/class_shares.h"
#include "fit/judgement.h"
#include "fit/logistic.h"
#include "model/class_terms.h"
#include "remblai/error.h"
#include "remblai/predict.h"
#include "remblai/preprocess.h"
#include "remblai/threads.h"
#include "transport/engine.h"

namespace remblai {
namespace {

Labels named(const Matrix& scores, const Labels& classes) {
  return most_likely({classes, scores});
}

}  // namespace

Labels baseline_labels(Baseline baseline, const Problem& problem, const MatrixView& points,
                       const Options& options, int neighbours) {
  options.validate();
  problem.source.validate("source");
  problem.target.validate("target");
  require_finite(points, "points");
  const DenseWork scope(thread_count(options.resources.threads), options.resources,
                        problem.source.size(), problem.target.size());
  const Scaler scaler = fit_scaler(options.preprocess, problem.source, problem.target);
  const Domain source{scaler.apply(problem.source.points, Role::source), problem.source.labels,
                      problem.source.probabilities()};
  const Domain target{
      scaler.apply(problem.target.points, Role::target), {}, problem.target.probabilities()};
  // Neighbours and kernels see distances alone, which are the same in all coordinates.
  const bool logistic = baseline == Baseline::logistic;
  const Space space = make_space(source, target, logistic ? Span::displacements : Span::everything);
  const ClassProblem classes = make_class_problem(space, source.labels, {});
  const Matrix placed = space.frame.coordinates(scaler.apply(points, Role::target));
  if (baseline == Baseline::nearest) {
    const Labels labels = source.labels(space.source_rows);
    return nearest_labels(space.x, labels, placed, neighbours);
  }
  if (logistic) {
    // In units of the data, which the penalty is measured in.
    const double length = space.frame.length;
    const LogisticModel model =
        fit_logistic(length * space.x, classes.places, classes.p, classes.class_count());
    const Matrix scores = linalg::multiply(length * placed, model.weights).rowwise() + model.biases;
    return named(scores, classes.classes);
  }
  const Judgement judgement = judge(
      classes, Clouds(space.x, space.z, {}, memory_budget(options.resources)), options.classes);
  const Matrix scores = judgement.classifier.scores(placed);
  if (baseline == Baseline::kernel_ridge) return named(scores, classes.classes);
  const Vector prior = Vector::Constant(classes.class_count(), options.classes.share_prior);
  const Vector shares =
      estimate_shares(judgement.posterior, classes.q, classes.shares, prior).shares;
  return named(opinions_under(judgement.classifier.probabilities(scores), classes.shares, shares),
               classes.classes);
}

}  // namespace remblai
