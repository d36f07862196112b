// Classifier forth and back.
#include "fit/judgement.h"

#include <algorithm>

namespace remblai {
namespace {

// Source points with their labels, behind the target points of known label.
LabelledPoints labelled_points(const ClassProblem& problem, const Clouds& clouds) {
  const auto known = static_cast<Index>(problem.known.size());
  const Index m = clouds.x.rows();
  LabelledPoints labelled{Matrix(known + m, clouds.x.cols()),
                          Matrix::Zero(known + m, problem.class_count()), Vector(known + m),
                          problem.known_places};
  labelled.points << clouds.z(problem.known, Eigen::all), clouds.x;
  for (Index j = 0; j < known; ++j)
    labelled.shares(j, problem.known_places[static_cast<std::size_t>(j)]) = 1;
  labelled.shares.bottomRows(m) = problem.members;
  labelled.rows = CommonRows::of(problem.shard, known);
  const auto all = static_cast<double>(problem.shard.total(m));
  labelled.weights << Vector::Ones(known), all * problem.p;
  labelled.places.insert(labelled.places.end(), problem.places.begin(), problem.places.end());
  if (!clouds.measured()) return labelled;
  labelled.distances.resize(known + m, known + m);
  labelled.distances.topLeftCorner(known, known) = clouds.zz()(problem.known, problem.known);
  labelled.distances.topRightCorner(known, m) = clouds.zx()(problem.known, Eigen::all);
  labelled.distances.bottomRightCorner(m, m) = clouds.xx();
  return labelled;
}

// The distances at hand are those to all the points that a classifier was trained on, which it may
// not be a sum over.
bool at_hand(const Clouds& clouds, const Classifier& classifier, Index trained) {
  return clouds.measured() && classifier.width > 0 && classifier.points.rows() == trained;
}

// Scores of the target points by a classifier that was trained on labelled points.
Matrix scores_forth(const Classifier& classifier, const ClassProblem& problem,
                    const Clouds& clouds) {
  const auto known = static_cast<Index>(problem.known.size());
  if (!at_hand(clouds, classifier, known + clouds.x.rows())) return classifier.scores(clouds.z);
  Matrix distances(clouds.z.rows(), classifier.points.rows());
  if (known > 0)
    distances.leftCols(known) =
        Matrix(clouds.zz().selfadjointView<Eigen::Upper>())(Eigen::all, problem.known);
  distances.rightCols(clouds.x.rows()) = clouds.zx();
  return classifier.scores_at(std::move(distances));
}

}  // namespace

Judgement judge(const ClassProblem& problem, const Clouds& clouds, const ClassOptions& options,
                const Pulse& pulse) {
  Judgement judgement;
  judgement.unit = clouds.mean_distance(problem.p, problem.q);
  FittedClassifier fitted = fit_classifier(labelled_points(problem, clouds), judgement.unit,
                                           Purpose::posteriors, options, pulse);
  judgement.left_out = fitted.left_out;
  judgement.classifier = std::move(fitted.classifier);
  judgement.posterior =
      judgement.classifier.probabilities(scores_forth(judgement.classifier, problem, clouds));
  const Vector weights = static_cast<double>(clouds.z.rows()) * problem.q;
  const Classifier back =
      fit_backwards(judgement.classifier, clouds.z, clouds.measured() ? clouds.zz() : Matrix(),
                    judgement.posterior, weights, options, pulse);
  const Matrix scores =
      at_hand(clouds, back, clouds.z.rows())
          ? back.scores_at(clouds.zx().transpose())
          : problem.shard.by_pieces(clouds.x, problem.class_count(),
                                    [&](const Matrix& rows) { return back.scores(rows); });
  judgement.round_trip = std::min(1.0, problem.shard.dot(problem.p, right(scores, problem.places)));
  return judgement;
}

}  // namespace remblai
