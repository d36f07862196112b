// What a Metric answers equals what its dense matrix says.
#include "remblai/metric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/linalg.h"
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

}  // namespace
}  // namespace remblai
