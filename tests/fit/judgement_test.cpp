// What a classifier says of the target, and the way back.
#include "fit/judgement.h"

#include <gtest/gtest.h>

#include "fit/class_test_tools.h"

namespace remblai {
namespace {

using test::class_problem;
using test::difference;
using test::PlacedProblem;

Judgement judgement_of(const PlacedProblem& placed, const ClassOptions& options = {}) {
  return judge(placed.classes, Clouds(placed.space.x, placed.space.z), options);
}

TEST(Judgement, TheUnitIsTheMeanSquaredDistance) {
  Problem problem = class_problem(3, 15, 10, 4);
  problem.source.weights = test::random_weights(15, 1);
  problem.target.weights = test::random_weights(10, 2);
  const PlacedProblem placed(problem);
  double mean = 0;
  for (Index i = 0; i < 15; ++i)
    for (Index j = 0; j < 10; ++j)
      mean += placed.space.p[i] * placed.space.q[j] *
              (placed.space.x.row(i) - placed.space.z.row(j)).squaredNorm();
  const Clouds clouds(placed.space.x, placed.space.z);
  EXPECT_NEAR(clouds.mean_distance(placed.space.p, placed.space.q), mean, 1e-12 * mean);
  EXPECT_NEAR(judgement_of(placed).unit, mean, 1e-12 * mean);
  const Matrix one = Matrix::Ones(15, 4), other = Matrix::Ones(10, 4);
  EXPECT_EQ(Clouds(one, other).mean_distance(placed.space.p, placed.space.q), 1);
}

TEST(Judgement, ThePosteriorIsTheCalibratedScoreOfTheTargetPoints) {
  const PlacedProblem placed(class_problem(4, 40, 30, 3, 2, 1.5));
  const Judgement found = judgement_of(placed);
  const Classifier& classifier = found.classifier;
  Matrix scores = classifier.temperature * classifier.scores(placed.space.z);
  scores.rowwise() += classifier.biases.transpose();
  EXPECT_LT(difference(found.posterior, test::plain_softmax(scores)), 1e-12);
  EXPECT_LT(difference(found.posterior.rowwise().sum(), Matrix::Ones(30, 1)), 1e-12);
}

// Calibrated with free biases: over the source the probabilities sum to the shares.
TEST(Judgement, TheClassifierIsTheOneOfTheSource) {
  const PlacedProblem placed(class_problem(3, 45, 30, 3, 3, 1));
  LabelledPoints labelled{placed.space.x, placed.classes.members, Vector::Ones(45),
                          placed.classes.places};
  const Judgement found = judgement_of(placed);
  const FittedClassifier expected = fit_classifier(labelled, found.unit, Purpose::posteriors, {});
  EXPECT_EQ(found.classifier.width, expected.classifier.width);
  EXPECT_NEAR(found.left_out, expected.left_out, 1e-12);
  EXPECT_LT(difference(found.posterior, expected.classifier.probabilities(
                                            expected.classifier.scores(placed.space.z))),
            1e-10);
}

TEST(Judgement, TheWayBackIsTheShareOfSourceLabelsThatReturn) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    Problem problem = class_problem(3, 30, 40, 3, seed, 1);
    problem.source.weights = test::random_weights(30, seed);
    problem.target.weights = test::random_weights(40, seed + 1).cwiseAbs2();
    const PlacedProblem placed(problem);
    for (const double width : {0.8, 1e-3}) {  // kernels, then class means
      const ClassOptions options{.kernel_width = width};
      const Judgement found = judgement_of(placed, options);
      const Classifier back = fit_backwards(found.classifier, placed.space.z, {}, found.posterior,
                                            40 * placed.space.q, options);
      double right = 0;
      for (Index i = 0; i < 30; ++i) {
        const Index place = placed.classes.places[static_cast<std::size_t>(i)];
        Index best = 0;
        back.scores(placed.space.x.row(i)).row(0).maxCoeff(&best);
        if (best == place) right += placed.space.p[i];
      }
      EXPECT_NEAR(found.round_trip, right, 1e-12) << seed << " " << width;
    }
  }
}

TEST(Judgement, ClassesFarApartAreReliableAndRandomLabelsAreNot) {
  Problem problem = class_problem(3, 60, 60, 3, 5, 8, 0);
  const Judgement good = judgement_of(PlacedProblem(problem));
  EXPECT_NEAR(good.left_out, 1, 1e-12);
  EXPECT_NEAR(good.round_trip, 1, 1e-12);
  // Labels that follow the order of the points say nothing of their places.
  problem.source.points = test::random_matrix(60, 3, 6);
  EXPECT_LT(judgement_of(PlacedProblem(problem)).left_out, 0.6);
}

// Known target points are labelled points like those of the source.
TEST(Judgement, KnownLabelsTeachTheClassifier) {
  Problem problem = class_problem(2, 20, 30, 2, 7, 3, 0);
  problem.known_labels = Labels::Constant(30, unknown_label);
  for (const Index j : {0, 4, 9, 21}) problem.known_labels[j] = problem.target.labels[j];
  const PlacedProblem placed(problem);
  const Matrix& z = placed.space.z;
  LabelledPoints labelled{Matrix(24, 2), Matrix(24, 2), Vector::Ones(24), {}};
  labelled.points << z(placed.classes.known, Eigen::all), placed.space.x;
  labelled.shares << test::one_hot(placed.classes.known_places, 2), placed.classes.members;
  labelled.places = placed.classes.known_places;
  labelled.places.insert(labelled.places.end(), placed.classes.places.begin(),
                         placed.classes.places.end());
  const Judgement found = judgement_of(placed);
  const FittedClassifier expected = fit_classifier(labelled, found.unit, Purpose::posteriors, {});
  EXPECT_NEAR(found.left_out, expected.left_out, 1e-12);
  EXPECT_LT(
      difference(found.posterior, expected.classifier.probabilities(expected.classifier.scores(z))),
      1e-10);
}

TEST(Judgement, OneClassOnePointAndOnePlace) {
  const Problem single = class_problem(1, 1, 1, 2);
  const Judgement found = judgement_of(PlacedProblem(single));
  EXPECT_EQ(found.posterior, Matrix::Ones(1, 1));
  EXPECT_EQ(found.left_out, 1);
  EXPECT_EQ(found.round_trip, 1);
  Problem place = class_problem(3, 9, 6, 2);
  place.source.points.setOnes();
  place.target.points.setOnes();
  const Judgement same = judgement_of(PlacedProblem(place));
  EXPECT_EQ(same.unit, 1);
  EXPECT_LT(difference(same.posterior, Matrix::Constant(6, 3, 1.0 / 3)), 1e-6);
}

}  // namespace
}  // namespace remblai
