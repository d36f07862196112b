// The metric and its closed form: what a Metric answers equals what its dense matrix says.
#include "remblai/metric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/linalg.h"
#include "fit/metric_step.h"
#include "fit/space.h"
#include "remblai/spd.h"
#include "support.h"

namespace remblai {
namespace {

Metric random_metric(Index d, Index r) {
  Metric metric;
  metric.frame.origin = test::random_matrix(d, 1, 1).col(0);
  metric.frame.length = 4;
  metric.frame.basis = r < d ? linalg::row_space(test::random_matrix(r, d, 2)) : Matrix();
  metric.factor = test::random_matrix(r, r, 3);
  metric.unit = 2.5;
  metric.outside = 0.7;
  return metric;
}

TEST(Metric, DistancesAreThoseOfTheDenseMatrixInsideAndOutsideTheSpan) {
  for (const Index r : {Index{6}, Index{3}, Index{1}}) {
    const Metric metric = random_metric(6, r);
    const Matrix a = metric.matrix();
    EXPECT_LE((a - a.transpose()).norm(), 1e-13 * a.norm());
    const Matrix x = test::random_matrix(5, 6, 4), y = test::random_matrix(4, 6, 5);
    const Matrix distances = metric.distances(x, y);
    for (Index i = 0; i < 5; ++i)
      for (Index j = 0; j < 4; ++j) {
        const Vector v = (x.row(i) - y.row(j)).transpose();
        EXPECT_NEAR(distances(i, j), std::sqrt(v.dot(a * v)), 1e-12);
      }
    EXPECT_EQ(metric.distances(x.topRows(1), x.topRows(1))(0, 0), 0);
  }
}

TEST(Metric, EmbeddingTurnsTheCostEuclidean) {
  const Metric metric = random_metric(6, 3);
  // Points that differ inside the span only.
  const Matrix x = test::random_matrix(5, 3, 4) * metric.frame.basis.transpose();
  const Matrix e = metric.embed(x);
  const Matrix distances = metric.distances(x, x);
  for (Index i = 0; i < 5; ++i)
    for (Index j = 0; j < 5; ++j)
      EXPECT_NEAR(std::sqrt(metric.unit) * (e.row(i) - e.row(j)).norm(), distances(i, j), 1e-12);
}

Space space_with_prior(const Matrix& prior) {
  Space space;
  space.frame.origin = Vector::Zero(prior.rows());
  space.reference.inside = prior;
  linalg::cholesky(prior, space.reference.lower);
  return space;
}

TEST(MetricStep, SolvesTheRiccatiEquation) {
  for (const Index d : {1, 2, 7, 40}) {
    const Matrix c = test::random_spd(d, 1e4, 1), prior = test::random_spd(d, 1e3, 2);
    for (const double ridge : {0.0, 0.3}) {
      const Space space = space_with_prior(prior);
      const MetricStep step(space, ridge, 0.5);
      const LearnedMetric metric = step(c);
      ASSERT_TRUE(metric.ok);
      const Matrix a = metric.factor.transpose() * metric.factor;
      const Matrix c_ridge = c + ridge * Matrix::Identity(d, d);
      EXPECT_LE((a * c_ridge * a - prior).norm() / prior.norm(), 1e-8);
      EXPECT_NEAR(step.residual(metric, c), (a * c_ridge * a - prior).norm() / prior.norm(), 1e-10);
      EXPECT_NEAR(metric.prior_term, (spd::inverse(a) * prior).trace(), 1e-8 * metric.prior_term);
      EXPECT_NEAR(metric.trace, a.trace(), 1e-10 * metric.trace);
      const Vector values = linalg::eigenvalues(a);
      const double condition = values[d - 1] / values[0];
      EXPECT_NEAR(step.condition(metric), condition, 1e-6 * condition);
    }
  }
}

TEST(MetricStep, EveryGeodesicWeightIsThePointOfTheGeodesic) {
  const Matrix c = test::random_spd(6, 1e2, 1), prior = test::random_spd(6, 1e2, 2);
  for (const double t : {0.1, 0.5, 0.8}) {
    const Space space = space_with_prior(prior);
    const LearnedMetric metric = MetricStep(space, 0, t)(c);
    const Matrix expected = spd::geometric_mean(spd::inverse(c), prior, t);
    EXPECT_LE((metric.factor.transpose() * metric.factor - expected).norm(),
              1e-10 * expected.norm());
  }
}

TEST(MetricStep, DistanceIsTheAffineInvariantOne) {
  const Matrix prior = test::random_spd(8, 1e3, 3);
  const Space space = space_with_prior(prior);
  const MetricStep step(space, 0.1, 0.5);
  const LearnedMetric a = step(test::random_spd(8, 1e2, 4)), b = step(test::random_spd(8, 1e3, 5));
  const double truth =
      spd::distance(a.factor.transpose() * a.factor, b.factor.transpose() * b.factor);
  EXPECT_NEAR(step.distance(a, b), truth, 1e-9 * truth);
  EXPECT_NEAR(step.distance(a, a), 0, 1e-10);
}

TEST(MetricStep, SaysWhenTheMomentIsSingular) {
  Matrix c = Matrix::Zero(3, 3);
  c(0, 0) = 1;
  const Space space = space_with_prior(Matrix::Identity(3, 3));
  EXPECT_FALSE(MetricStep(space, 0, 0.5)(c).ok);
  EXPECT_TRUE(MetricStep(space, 1e-3, 0.5)(c).ok);
}

}  // namespace
}  // namespace remblai
