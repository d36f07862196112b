// The one place that makes costs: every way of asking for them gives the same numbers.
#include "transport/ground_cost.h"

#include <gtest/gtest.h>

#include "support.h"

namespace remblai {
namespace {

void expect_costs(const GroundCost& cost, const Matrix& truth, double error) {
  ASSERT_EQ(cost.rows(), truth.rows());
  ASSERT_EQ(cost.columns(), truth.cols());
  EXPECT_LE(test::difference(cost.block(0, truth.rows()), truth), error);
  EXPECT_LE(test::difference(cost.block(3, 4), truth.middleRows(3, 4)), error);
  const Matrix relative = cost.relative_block(2, 5);
  for (Index i = 0; i < 5; ++i)
    EXPECT_LE(
        test::difference(Matrix(relative.row(i).array() + cost.alpha()[2 + i]), truth.row(2 + i)),
        error);
  EXPECT_LE(test::difference(cost.column(1), truth.col(1)), error);
  const Vector a = test::random_weights(truth.rows(), 3), b = test::random_weights(truth.cols(), 4);
  EXPECT_NEAR(cost.between(a, b), a.dot(truth * b), error);
}

Matrix squared_distances(const Matrix& x, const Matrix& z) {
  Matrix truth(x.rows(), z.rows());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < z.rows(); ++j) truth(i, j) = (x.row(i) - z.row(j)).squaredNorm();
  return truth;
}

TEST(GroundCost, BetweenPointsAnywhere) {
  const Matrix x = test::random_matrix(20, 8, 1), z = test::random_matrix(11, 8, 2);
  for (const double offset : {0.0, 1e3, 1e8}) {
    const Matrix far_x = x.array() + offset, far_z = z.array() + offset;
    const Matrix truth = squared_distances(far_x, far_z);
    const GroundCost cost = GroundCost::between_points(far_x, far_z);
    expect_costs(cost, truth, 1e-12 + 1e-14 * offset);
    EXPECT_GE(
        cost.range(),
        truth.maxCoeff() - (far_x.colwise().mean() - far_z.colwise().mean()).squaredNorm() - 10);
  }
}

TEST(GroundCost, TermsAreAddedAsColumns) {
  const Matrix x = test::random_matrix(20, 3, 1), z = test::random_matrix(11, 3, 2);
  const Matrix left = test::random_matrix(20, 4, 5), right = test::random_matrix(11, 4, 6);
  const Matrix truth = squared_distances(x, z) + left * right.transpose();
  GroundCost factored = GroundCost::between_points(x, z);
  factored.add_terms(left, right);
  expect_costs(factored, truth, 1e-12);
  EXPECT_EQ(factored.u().cols(), 7);
  GroundCost dense = GroundCost::dense(squared_distances(x, z));
  dense.add_terms(left, right);
  expect_costs(dense, truth, 1e-12);
  EXPECT_EQ(dense.range(), dense.matrix().maxCoeff() - dense.matrix().minCoeff());
}

TEST(GroundCost, WhatDoubleCannotHoldHasNoFiniteRange) {
  EXPECT_FALSE(std::isfinite(
      GroundCost::between_points(Matrix::Constant(1, 1, 1e200), Matrix::Zero(1, 1)).range()));
  EXPECT_FALSE(std::isfinite(
      GroundCost::between_points(1e200 * test::random_matrix(4, 2, 1), Matrix::Zero(1, 2))
          .range()));
}

// Rows that have nothing to do with each other do not disturb each other, however far one of them
// is.
TEST(GroundCost, AFarRowCostsTheOthersNoDigits) {
  const Matrix z = test::random_matrix(7, 3, 1);
  Matrix x = test::random_matrix(5, 3, 2);
  const Matrix alone = GroundCost::to_anchors(x, z).block(0, 4);
  x.row(4).setConstant(1e150);
  EXPECT_LT(test::difference(GroundCost::to_anchors(x, z).block(0, 4), alone), 1e-14);
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 7; ++j)
      EXPECT_NEAR(alone(i, j), (x.row(i) - z.row(j)).squaredNorm(), 1e-13);
}

}  // namespace
}  // namespace remblai
