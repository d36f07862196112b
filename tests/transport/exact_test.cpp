// Exact transport: optimality by duality, and POT's value.
#include "remblai/exact.h"

#include <gtest/gtest.h>

#include <cmath>

#include "remblai/error.h"
#include "support.h"
#include "transport/transport_fixture.h"

namespace remblai {
namespace {

Matrix dense(const ExactPlan& plan, Index m, Index n) {
  Matrix g = Matrix::Zero(m, n);
  for (const Mass& mass : plan.masses) g(mass.source, mass.target) += mass.amount;
  return g;
}

void expect_optimal(const Matrix& cost, const Vector& p, const Vector& q) {
  const ExactPlan plan = exact_transport(cost, p, q);
  const Matrix g = dense(plan, cost.rows(), cost.cols());
  EXPECT_GE(g.minCoeff(), 0);
  EXPECT_LE((g.rowwise().sum() - p).lpNorm<1>(), 1e-12);
  EXPECT_LE((g.colwise().sum().transpose() - q).lpNorm<1>(), 1e-12);
  EXPECT_LE(plan.masses.size(), static_cast<std::size_t>(cost.rows() + cost.cols() - 1));
  const double size = cost.cwiseAbs().maxCoeff();
  // A feasible dual with the same value proves the optimum.
  const Matrix slack = (cost.colwise() - plan.f).rowwise() - plan.g.transpose();
  EXPECT_GE(slack.minCoeff(), -1e-10 * size);
  EXPECT_NEAR(plan.cost, p.dot(plan.f) + q.dot(plan.g), 1e-10 * size);
  EXPECT_LE(plan.gap, 1e-10 * size);
  EXPECT_NEAR(plan.cost, g.cwiseProduct(cost).sum(), 1e-12 * size);
}

TEST(Exact, DualityProvesTheOptimum) {
  for (const double size : {1e-150, 1.0, 1e150}) {
    const Matrix cost = size * test::random_matrix(23, 31, 1).cwiseAbs();
    expect_optimal(cost, Vector::Constant(23, 1.0 / 23), Vector::Constant(31, 1.0 / 31));
    expect_optimal(cost, test::random_weights(23, 1), test::random_weights(31, 2));
  }
}

TEST(Exact, AgreesWithPot) {
  const Matrix cost = test::transport_fixture("cost");
  const ExactPlan plan = exact_transport(cost, test::transport_fixture("p").col(0),
                                         test::transport_fixture("q").col(0));
  EXPECT_LE((dense(plan, cost.rows(), cost.cols()) - test::transport_fixture("exact")).lpNorm<1>(),
            1e-10);
}

TEST(Exact, SmallAndDegenerate) {
  expect_optimal(Matrix::Zero(1, 1), Vector::Ones(1), Vector::Ones(1));
  expect_optimal(Matrix::Zero(4, 3), Vector::Constant(4, 0.25), Vector::Constant(3, 1.0 / 3));
  expect_optimal(Matrix::Constant(5, 5, 2), Vector::Constant(5, 0.2), Vector::Constant(5, 0.2));
  expect_optimal(test::random_matrix(1, 9, 3).cwiseAbs(), Vector::Ones(1),
                 test::random_weights(9, 4));
}

TEST(Exact, WhatIsCommonToARowDoesNotDrownTheRest) {
  const Matrix cost = test::random_matrix(15, 15, 5).cwiseAbs();
  const Vector w = Vector::Constant(15, 1.0 / 15);
  Matrix shifted = cost;
  shifted.array() += 1e12;
  EXPECT_NEAR(exact_transport(shifted, w, w).cost - 1e12, exact_transport(cost, w, w).cost, 1e-3);
  EXPECT_NEAR(exact_transport(cost, 5 * w, 3 * w).cost, exact_transport(cost, w, w).cost, 1e-14);
}

TEST(Exact, RefusesWhatItCannotUse) {
  EXPECT_THROW(exact_transport(Matrix(), {}, {}), Error);
  EXPECT_THROW(exact_transport(Matrix::Zero(2, 2), Vector::Ones(3) / 3, Vector::Ones(2) / 2),
               Error);
  EXPECT_THROW(exact_transport(Matrix::Zero(2, 2), -Vector::Ones(2), Vector::Ones(2)), Error);
  Matrix bad = Matrix::Zero(2, 2);
  bad(0, 1) = std::nan("");
  EXPECT_THROW(exact_transport(bad, Vector::Ones(2) / 2, Vector::Ones(2) / 2), Error);
  // Differences of these overflow.
  const Matrix huge = 1e308 * test::random_matrix(3, 3, 1).array().sign();
  EXPECT_TRUE(test::contains(
      test::message_of([&] { exact_transport(huge, Vector::Ones(3), Vector::Ones(3)); }),
      "rescale the costs"));
}

// Refused for its sizes alone: nothing of size m x n is allocated on the way to the answer.
TEST(Exact, TooManyPointsAreRefusedBeforeAnythingIsAllocated) {
  const std::string message =
      test::message_of([] { require_exact_memory(Index{1} << 20, Index{1} << 20); });
  EXPECT_TRUE(test::contains(message, "8.2e+04 GiB")) << message;
  EXPECT_TRUE(
      test::contains(test::message_of([] { require_exact_memory(1000, 1000, {.memory = 1e-3}); }),
                     "0.075 GiB, more than the 0.001 GiB that Resources::memory allows"));
  EXPECT_NO_THROW(require_exact_memory(1000, 1000));
}

TEST(Exact, AnyUnitOfTheCost) {
  const Matrix cost = test::random_matrix(6, 5, 3).cwiseAbs();
  const Vector p = test::random_weights(6, 1), q = test::random_weights(5, 2);
  const ExactPlan plain = exact_transport(cost, p, q);
  const auto tiny = [](double value) { return std::ldexp(value, -1010); };
  const ExactPlan scaled = exact_transport(Matrix(cost.unaryExpr(tiny)), p, q);
  EXPECT_LE((dense(scaled, 6, 5) - dense(plain, 6, 5)).cwiseAbs().sum(), 1e-12);
  EXPECT_NEAR(std::ldexp(scaled.cost, 1010), plain.cost, 1e-9);
}

// Below the unit of the method, 2^-50, a positive weight still has a row in the plan.
TEST(Exact, TinyWeightsKeepTheirPlace) {
  const Matrix cost = test::random_matrix(6, 5, 3).cwiseAbs();
  Vector p = test::random_weights(6, 1), q = test::random_weights(5, 2);
  p[2] = 1e-30;
  q[4] = 1e-40;
  const Matrix plan = dense(exact_transport(cost, p, q), 6, 5);
  EXPECT_GT(plan.row(2).sum(), 0);
  EXPECT_GT(plan.col(4).sum(), 0);
  EXPECT_LE((plan.rowwise().sum() - p / p.sum()).lpNorm<1>(), 1e-13);
}

}  // namespace
}  // namespace remblai
