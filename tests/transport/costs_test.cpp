// Costs that are made when they are needed are those that are stored.
#include "transport/costs.h"

#include <gtest/gtest.h>

#include "support.h"

namespace remblai {
namespace {

TEST(Costs, RowsColumnsAndSumsAgree) {
  // Far from zero, where a careless product would lose digits.
  const Matrix x = test::random_matrix(70, 8, 1).array() + 1000;
  const Matrix z = test::random_matrix(50, 8, 2).array() + 1000;
  const Costs<double> stored(x, z, true), made(x, z, false);
  EXPECT_TRUE(stored.stored());
  EXPECT_FALSE(made.stored());
  for (const Costs<double>* costs : {&stored, &made}) {
    EXPECT_EQ(costs->rows(), 70);
    EXPECT_EQ(costs->columns(), 50);
    Matrix scratch;
    const double* entries = costs->entries({20, 45}, scratch);
    for (Index i = 0; i < 25; ++i)
      for (Index j = 0; j < 50; ++j) {
        const double truth = (x.row(20 + i) - z.row(j)).squaredNorm();
        const double found = costs->alpha()[20 + i] + costs->beta()[j] + entries[i * 50 + j];
        EXPECT_NEAR(found, truth, costs == &made ? 1e-12 : 1e-8);
        EXPECT_LE(truth, costs->largest() + 1e-8);
      }
    EXPECT_LE(test::difference(costs->column(7), (x.rowwise() - z.row(7)).rowwise().squaredNorm()),
              1e-8);
    const Vector alpha = test::random_weights(70, 3), beta = test::random_weights(50, 4);
    double sum = 0;
    for (Index j = 0; j < 50; ++j)
      sum += beta[j] * alpha.dot((x.rowwise() - z.row(j)).rowwise().squaredNorm());
    EXPECT_NEAR(costs->between(alpha, beta), sum, 1e-8);
  }
}

}  // namespace
}  // namespace remblai
