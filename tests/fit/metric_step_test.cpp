// The closed form of the metric step solves its equation and says what it promises.
#include "fit/metric_step.h"

#include <gtest/gtest.h>

#include "base/linalg.h"
#include "remblai/spd.h"
#include "support.h"

namespace remblai {
namespace {

MetricStep step_with(const Matrix& prior, double ridge, double t = 0.5) {
  SpanMatrix reference;
  reference.inside = prior;
  linalg::cholesky(prior, reference.lower);
  return {prior.rows(), prior.rows(), reference, {{}, ridge}, t};
}

TEST(MetricStep, SolvesTheRiccatiEquation) {
  for (const Index d : {1, 2, 7, 40}) {
    const Matrix c = test::random_spd(d, 1e4, 1), prior = test::random_spd(d, 1e3, 2);
    for (const double ridge : {0.0, 0.3}) {
      const MetricStep step = step_with(prior, ridge);
      const LearnedMetric metric = step(c);
      ASSERT_TRUE(metric.ok);
      const Matrix a = metric.factor.transpose() * metric.factor;
      const Matrix c_ridge = c + ridge * Matrix::Identity(d, d);
      EXPECT_LE((a * c_ridge * a - prior).norm() / prior.norm(), 1e-8);
      EXPECT_NEAR(step.residual(metric, c), (a * c_ridge * a - prior).norm() / prior.norm(), 1e-10);
      EXPECT_NEAR(metric.prior_term, (spd::inverse(a) * prior).trace(), 1e-8 * metric.prior_term);
      EXPECT_NEAR(metric.ridge_term, ridge * a.trace(), 1e-10 * a.trace());
      const Vector values = linalg::eigenvalues(a);
      const double condition = values[d - 1] / values[0];
      EXPECT_NEAR(step.condition(metric), condition, 1e-6 * condition);
    }
  }
}

TEST(MetricStep, EveryGeodesicWeightIsThePointOfTheGeodesic) {
  const Matrix c = test::random_spd(6, 1e2, 1), prior = test::random_spd(6, 1e2, 2);
  for (const double t : {0.1, 0.5, 0.8}) {
    const LearnedMetric metric = step_with(prior, 0, t)(c);
    const Matrix expected = spd::geometric_mean(spd::inverse(c), prior, t);
    EXPECT_LE((metric.factor.transpose() * metric.factor - expected).norm(),
              1e-10 * expected.norm());
  }
}

TEST(MetricStep, DistanceIsTheAffineInvariantOne) {
  const Matrix prior = test::random_spd(8, 1e3, 3);
  const MetricStep step = step_with(prior, 0.1);
  const LearnedMetric a = step(test::random_spd(8, 1e2, 4)), b = step(test::random_spd(8, 1e3, 5));
  const double truth =
      spd::distance(a.factor.transpose() * a.factor, b.factor.transpose() * b.factor);
  EXPECT_NEAR(step.distance(a, b), truth, 1e-9 * truth);
  EXPECT_NEAR(step.distance(a, a), 0, 1e-10);
}

TEST(MetricStep, SaysWhenTheMomentIsSingular) {
  Matrix c = Matrix::Zero(3, 3);
  c(0, 0) = 1;
  EXPECT_FALSE(step_with(Matrix::Identity(3, 3), 0)(c).ok);
  EXPECT_TRUE(step_with(Matrix::Identity(3, 3), 1e-3)(c).ok);
}

// A ridge may be any matrix in the span: it is added to the moment and counts in the objective.
TEST(MetricStep, ARidgeMayBeAMatrix) {
  const Matrix c = test::random_spd(6, 1e2, 1), prior = test::random_spd(6, 1e2, 2);
  const Matrix ridge = 0.3 * test::random_spd(6, 1e3, 3);
  SpanMatrix reference;
  reference.inside = prior;
  linalg::cholesky(prior, reference.lower);
  const MetricStep step(6, 6, reference, {ridge, 1}, 0.5);
  const LearnedMetric metric = step(c);
  const Matrix a = metric.factor.transpose() * metric.factor;
  EXPECT_LE((a * (c + ridge) * a - prior).norm(), 1e-8 * prior.norm());
  EXPECT_NEAR(metric.ridge_term, (a * ridge).trace(), 1e-10 * metric.ridge_term);
  EXPECT_LE(step.residual(metric, c), 1e-8);
}

}  // namespace
}  // namespace remblai
