// Where the transport step ends before its tolerance: asked to, out of passes, or by an exception.
#include "remblai/transport.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "remblai/error.h"
#include "support.h"
#include "transport/transport_fixture.h"

namespace remblai {
namespace {

TEST(Transport, StoppedInTheMiddleItsNumbersBelongToLambda) {
  const Matrix cost = test::random_cost(60, 60, 37);
  const double lambda = cost.maxCoeff() / 1e5;
  const TransportPlan t = transport(
      cost, {}, {}, lambda, {.tolerance = 1e-9, .keep_going = [](int, double) { return false; }});
  EXPECT_TRUE(t.result.stopped);
  EXPECT_LE(t.result.source_error, 1e-9);  // rows are exact whenever it stops
  EXPECT_NEAR(t.plan.sum(), 1, 1e-9);
}

TEST(Transport, ThereIsNoPlanBeforeASolve) {
  Transport problem(test::uniform_weights(3), test::uniform_weights(3));
  const auto plan = [&] { problem.plan(); };
  EXPECT_TRUE(test::contains(test::message_of(plan), "before solve"));
  problem.set_cost(test::random_cost(3, 3, 1));
  EXPECT_TRUE(test::contains(test::message_of(plan), "before solve"));
  problem.solve(1);
  EXPECT_NEAR(problem.plan().sum(), 1, 1e-9);
  EXPECT_FALSE(test::message_of([&] { problem.set_cost(test::random_cost(2, 3, 1)); }).empty());
  EXPECT_TRUE(test::contains(test::message_of(plan), "before solve"));
}

TEST(Transport, ACallbackThatThrowsLeavesNoPlan) {
  Transport problem(test::uniform_weights(40), test::uniform_weights(40));
  problem.set_cost(test::random_cost(40, 40, 3));
  problem.solve(0.1);
  const auto fail = [](int, double) -> bool { throw std::runtime_error("stop"); };
  EXPECT_THROW(problem.solve(1e-3, {.tolerance = 1e-12, .keep_going = fail}), std::runtime_error);
  EXPECT_TRUE(test::contains(test::message_of([&] { problem.plan(); }), "before solve"));
  EXPECT_TRUE(problem.solve(0.1).converged);
}

TEST(Transport, StopsWhenAsked) {
  int calls = 0;
  TransportOptions options;
  options.tolerance = 1e-12;
  options.keep_going = [&](int, double) { return ++calls < 3; };
  const TransportPlan t = transport(test::random_cost(50, 50, 23), {}, {}, 1e-3, options);
  EXPECT_TRUE(t.result.stopped);
  EXPECT_FALSE(t.result.converged);
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(t.f.allFinite());
}

TEST(Transport, SaysWhenItRanOutOfPasses) {
  const TransportPlan t = transport(test::random_cost(50, 50, 23), {}, {}, 1e-3,
                                    {.tolerance = 1e-12, .max_passes = 5, .keep_going = {}});
  EXPECT_FALSE(t.result.converged);
  EXPECT_GT(t.result.target_error, 1e-12);
}

TEST(Transport, MakesNoMoreIterationsThanAsked) {
  const Matrix cost = test::random_cost(50, 40, 23);
  for (const SolverChoice solver : {SolverChoice::automatic, SolverChoice::sinkhorn,
                                    SolverChoice::anderson, SolverChoice::newton})
    for (const int most : {1, 2, 3, 7, 30})
      for (const Vector& start : {Vector(), Vector(Vector::Zero(40))}) {
        const TransportPlan t =
            transport(cost, {}, {}, 1e-4,
                      {.tolerance = 1e-12, .max_passes = most, .solver = solver}, {}, start);
        EXPECT_EQ(t.result.by_kind.fused, most);
        EXPECT_FALSE(t.result.converged);
        EXPECT_LE((t.plan.rowwise().sum() - test::uniform_weights(50)).lpNorm<1>(),
                  t.result.source_error + 1e-12);
      }
}

// A pass over rows that are made takes long here; nobody waits for its end.
TEST(Transport, AStopDoesNotWaitForALongPass) {
  const Index n = 60000;
  Transport transport(Vector::Constant(n, 1.0 / n), Vector::Constant(n, 1.0 / n),
                      {.threads = 1, .memory = 1e-3, .device = Device::cpu});
  transport.set_points(test::random_matrix(n, 2, 1), test::random_matrix(n, 2, 2));
  TransportOptions options;
  options.keep_going = [](int, double) { return false; };
  const TransportResult result = transport.solve(1, options);
  EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(result.converged);
  EXPECT_TRUE(std::isnan(result.target_error));
  EXPECT_TRUE(transport.f().allFinite() && transport.g().allFinite());
  EXPECT_THROW(transport.plan_times(Matrix::Ones(n, 1)), Error);
}

// Passes of about a tenth of a second: the question comes in the middle of one.
TEST(Transport, AStopInTheMiddleOfAPassIsSaidOnce) {
  const Index n = 12000;
  Transport transport(Vector::Constant(n, 1.0 / n), Vector::Constant(n, 1.0 / n),
                      {.threads = 1, .memory = 1e-3, .device = Device::cpu});
  transport.set_points(test::random_matrix(n, 2, 1), test::random_matrix(n, 2, 2));
  for (const bool fails : {false, true}) {
    int asked = 0;
    TransportOptions options;
    options.tolerance = 1e-12;
    options.keep_going = [&](int, double) {
      if (++asked != 1) return true;
      if (fails) throw std::runtime_error("the caller's own");
      return false;
    };
    if (fails)
      EXPECT_THROW(transport.solve(0.01, options), std::runtime_error);
    else
      EXPECT_TRUE(transport.solve(0.01, options).stopped);
    EXPECT_EQ(asked, 1);
  }
}

}  // namespace
}  // namespace remblai
