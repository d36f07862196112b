// Scores and probabilities of a classifier, written out.
#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"
#include "model/class_terms.h"
#include "remblai/class_model.h"

namespace remblai {
namespace {

using test::difference;
using test::random_matrix;

Classifier kernel_classifier() {
  Classifier out;
  out.width = 2.5;
  out.points = random_matrix(7, 3, 1);
  out.coefficients = random_matrix(7, 4, 2);
  out.temperature = 3;
  out.biases = random_matrix(4, 1, 3);
  return out;
}

TEST(Classifier, ScoresAreSumsOfKernels) {
  const Classifier classifier = kernel_classifier();
  const Matrix points = 2 * random_matrix(20, 3, 4);
  EXPECT_LT(
      difference(classifier.scores(points),
                 test::plain_kernel(points, classifier.points, 2.5) * classifier.coefficients),
      1e-12);
  EXPECT_EQ(classifier.scores(Matrix(0, 3)).rows(), 0);
}

TEST(Classifier, ScoresAreDistancesToClassMeans) {
  Classifier classifier;
  classifier.points = random_matrix(4, 3, 5);
  classifier.scale = 0.7;
  classifier.biases = Vector::Zero(4);
  const Matrix points = random_matrix(20, 3, 6), scores = classifier.scores(points);
  for (Index i = 0; i < 20; ++i)
    for (Index k = 0; k < 4; ++k)
      EXPECT_NEAR(scores(i, k), -(points.row(i) - classifier.points.row(k)).squaredNorm() / 0.7,
                  1e-12);
}

// More points than one block holds.
TEST(Classifier, BlocksDoNotShow) {
  Classifier classifier = kernel_classifier();
  classifier.points = random_matrix(3000, 2, 7);
  classifier.coefficients = random_matrix(3000, 4, 8);
  const Matrix points = random_matrix(1500, 2, 9), all = classifier.scores(points);
  for (const Index i : {0, 1332, 1333, 1334, 1499})
    EXPECT_LT(difference(all.row(i), classifier.scores(points.row(i))), 1e-9) << i;
}

TEST(Classifier, ProbabilitiesAreTheSoftmaxOfCalibratedScores) {
  const Classifier classifier = kernel_classifier();
  const Matrix scores = random_matrix(20, 4, 10);
  Matrix calibrated = 3 * scores;
  calibrated.rowwise() += classifier.biases.transpose();
  EXPECT_LT(difference(classifier.probabilities(scores), test::plain_softmax(calibrated)), 1e-14);
  const Matrix large = classifier.probabilities(1e300 * scores);
  ASSERT_TRUE(large.allFinite());
  EXPECT_LT(difference(large.rowwise().sum(), Matrix::Ones(20, 1)), 1e-12);
}

TEST(ClassTerms, OpinionsAreReweightedAndCosted) {
  const Matrix posterior = test::plain_softmax(random_matrix(6, 3, 11));
  const Vector before{{0.2, 0.3, 0.5}}, after{{0.6, 0.3, 0.1}};
  const Matrix found = opinions_under(posterior, before, after);
  for (Index j = 0; j < 6; ++j) {
    double sum = 0;
    for (Index k = 0; k < 3; ++k) sum += posterior(j, k) * after[k] / before[k];
    for (Index k = 0; k < 3; ++k)
      EXPECT_NEAR(found(j, k), posterior(j, k) * after[k] / before[k] / sum, 1e-14);
  }
  EXPECT_LT(difference(opinions_under(posterior, before, before), posterior), 1e-14);
  const Matrix costs = class_costs(Matrix{{1, 0.5, 1e-6, 1e-9, 0}}, 2);
  EXPECT_EQ(costs(0, 0), 0);
  EXPECT_NEAR(costs(0, 1), 2 * std::log(2.0), 1e-14);
  for (const Index k : {2, 3, 4}) EXPECT_NEAR(costs(0, k), 2 * std::log(1e6), 1e-12);
}

}  // namespace
}  // namespace remblai
