// Classifier forth and back.
#include "fit/judgement.h"

#include <algorithm>

#include "transport/ground_cost.h"

namespace remblai {
namespace {

// Source points with their labels, behind the target points of known label.
LabelledPoints labelled_points(const ClassProblem& problem, const Matrix& x, const Matrix& z) {
  const auto known = static_cast<Index>(problem.known.size());
  const Index m = x.rows();
  LabelledPoints labelled{Matrix(known + m, x.cols()),
                          Matrix::Zero(known + m, problem.class_count()), Vector(known + m),
                          problem.known_places};
  labelled.points << z(problem.known, Eigen::all), x;
  for (Index j = 0; j < known; ++j)
    labelled.shares(j, problem.known_places[static_cast<std::size_t>(j)]) = 1;
  labelled.shares.bottomRows(m) = problem.members;
  labelled.weights << Vector::Ones(known), static_cast<double>(m) * problem.p;
  labelled.places.insert(labelled.places.end(), problem.places.begin(), problem.places.end());
  return labelled;
}

}  // namespace

double mean_cost(const ClassProblem& problem, const Matrix& x, const Matrix& z) {
  const double mean = GroundCost::between_points(x, z).between(problem.p, problem.q);
  // Rounding is no distance: where the points of both clouds are one, any unit will do.
  const double size = std::max(x.cwiseAbs2().maxCoeff(), z.cwiseAbs2().maxCoeff());
  return mean > 1e-24 * size ? mean : size > 0 ? size : 1;
}

Judgement judge(const ClassProblem& problem, const Matrix& x, const Matrix& z,
                const ClassOptions& options) {
  Judgement judgement;
  judgement.unit = mean_cost(problem, x, z);
  FittedClassifier fitted =
      fit_classifier(labelled_points(problem, x, z), judgement.unit, Purpose::posteriors, options);
  judgement.left_out = fitted.left_out;
  judgement.classifier = std::move(fitted.classifier);
  judgement.posterior = judgement.classifier.probabilities(judgement.classifier.scores(z));
  const Vector weights = static_cast<double>(z.rows()) * problem.q;
  const Classifier back =
      fit_backwards(judgement.classifier, z, judgement.posterior, weights, options);
  const Vector returned = right(back.scores(x), problem.places);
  judgement.round_trip = std::min(1.0, problem.p.dot(returned));
  return judgement;
}

}  // namespace remblai
