// Several solves at a time in one process, each with a team of threads: what they share (the team,
// BLAS's number of threads) changes no bit of the answers. Also run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "remblai/exact.h"
#include "remblai/transport.h"
#include "support.h"

namespace remblai {
namespace {

struct Answer {
  Vector f, g;
  Matrix product;
};

// One problem, its pairs stored or made again in every pass.
Answer solve(const Resources& engine, SolverChoice solver, unsigned seed) {
  const Index m = 400, n = 300;  // enough pairs for a team of threads
  Transport problem(test::random_weights(m, seed), test::random_weights(n, seed + 1), engine);
  problem.set_points(test::random_matrix(m, 3, seed), test::random_matrix(n, 3, seed + 1));
  problem.solve(0.3, {.tolerance = 1e-5, .solver = solver, .keep_going = {}});
  return {problem.f(), problem.g(), problem.plan_times(Matrix::Ones(n, 2))};
}

double difference(const Answer& a, const Answer& b) {
  return (a.f - b.f).cwiseAbs().maxCoeff() + (a.g - b.g).cwiseAbs().maxCoeff() +
         (a.product - b.product).cwiseAbs().maxCoeff();
}

void same_alone_and_together(const Resources& engine, SolverChoice solver, double tolerance) {
  std::vector<Answer> alone, together(3);
  for (unsigned k = 0; k < 3; ++k) alone.push_back(solve(engine, solver, 10 * k));
  {
    std::vector<std::jthread> callers;
    for (unsigned k = 0; k < 3; ++k)
      callers.emplace_back([&, k] { together[k] = solve(engine, solver, 10 * k); });
  }
  for (std::size_t k = 0; k < 3; ++k) EXPECT_LE(difference(alone[k], together[k]), tolerance) << k;
}

TEST(Concurrency, SolvesWithStoredCosts) {
  same_alone_and_together({.threads = 3}, SolverChoice::sinkhorn, 0);
  // A Newton step may factorise its matrix by BLAS, whose bits depend on its number of threads.
  same_alone_and_together({.threads = 3}, SolverChoice::automatic, 1e-4);
}

TEST(Concurrency, SolvesThatMakeTheirCostsInEveryPass) {
  for (const Precision precision : {Precision::float64, Precision::float32})
    same_alone_and_together({.threads = 3, .memory = 1e-3, .precision = precision},
                            SolverChoice::sinkhorn, 0);
}

TEST(Concurrency, ExactAndEntropicAtATime) {
  const Matrix cost = test::random_matrix(40, 30, 5).cwiseAbs2();
  const Vector p = test::random_weights(40, 6), q = test::random_weights(30, 7);
  const double exact = exact_transport(cost, p, q).cost;
  double other = 0;
  {
    const std::jthread caller([&] { other = exact_transport(cost, p, q).cost; });
    const TransportPlan plan = transport(cost, p, q, 0.05, {}, {.threads = 2});
    EXPECT_GE(plan.result.cost, exact - 1e-9);
  }
  EXPECT_EQ(other, exact);
}

}  // namespace
}  // namespace remblai
