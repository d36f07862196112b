// The transport step: marginals, gap, oracles, and every range of cost over lambda it promises.
#include "remblai/transport.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "remblai/error.h"
#include "remblai/exact.h"
#include "remblai/sample.h"
#include "support.h"
#include "transport/transport_fixture.h"

namespace remblai {
namespace {

double primal(const Matrix& plan, const Matrix& cost, double lambda) {
  const auto x_log_x = [](double x) { return x > 0 ? x * std::log(x) : 0.0; };
  return plan.cwiseProduct(cost).sum() + lambda * plan.unaryExpr(x_log_x).sum();
}

TEST(Transport, AgreesWithPot) {
  const TransportPlan mine =
      transport(test::transport_fixture("cost"), test::transport_fixture("p").col(0),
                test::transport_fixture("q").col(0), test::transport_fixture("lambda")(0),
                {.tolerance = 1e-13, .keep_going = {}});
  EXPECT_TRUE(mine.result.converged);
  EXPECT_LE((mine.plan - test::transport_fixture("plan")).lpNorm<1>(), 1e-11);
}

TEST(Transport, ThePlanIsTheExponentialOfItsPotentials) {
  const Matrix cost = test::random_cost(13, 9, 3);
  const double lambda = 0.1;
  const TransportPlan t = transport(cost, {}, {}, lambda);
  Matrix expected(13, 9);
  for (Index i = 0; i < 13; ++i)
    for (Index j = 0; j < 9; ++j)
      expected(i, j) = std::exp((t.f[i] + t.g[j] - cost(i, j)) / lambda);
  EXPECT_LE((t.plan - expected).lpNorm<1>(), 1e-12);
  EXPECT_NEAR(t.result.cost, t.plan.cwiseProduct(cost).sum(), 1e-13);
  EXPECT_NEAR(t.result.cost - lambda * t.result.entropy, primal(t.plan, cost, lambda), 1e-12);
}

class EveryRatio : public testing::TestWithParam<double> {};

TEST_P(EveryRatio, MeetsBothMarginalsAtEveryScale) {
  const double ratio = GetParam();
  for (const double size : {1e-200, 1e-3, 1.0, 1e200}) {
    const Matrix cost = size * test::random_cost(40, 25, 5);
    const double lambda = cost.maxCoeff() / ratio;
    const TransportPlan t =
        transport(cost, test::random_weights(40, 1), test::random_weights(25, 2), lambda);
    ASSERT_TRUE(t.result.converged) << size;
    EXPECT_LE(t.result.source_error, 1e-6);
    EXPECT_LE(t.result.target_error, 1e-6);
    EXPECT_LE((t.plan.rowwise().sum() - test::random_weights(40, 1)).lpNorm<1>(), 1e-6);
    EXPECT_LE((t.plan.colwise().sum().transpose() - test::random_weights(25, 2)).lpNorm<1>(), 1e-6);
    EXPECT_GE(t.result.gap, 0);
    EXPECT_LE(t.result.gap, 1e-4 * cost.maxCoeff());
    EXPECT_TRUE(t.plan.allFinite());
  }
}
INSTANTIATE_TEST_SUITE_P(Transport, EveryRatio, testing::Values(1e-3, 1, 10, 100, 1e3, 1e4, 1e5));

TEST(Transport, TheGapBoundsTheTruth) {
  const Matrix cost = test::random_cost(30, 30, 7);
  const double lambda = 0.05;
  const TransportPlan tight =
      transport(cost, {}, {}, lambda, {.tolerance = 1e-14, .keep_going = {}});
  const double optimum = primal(tight.plan, cost, lambda);
  double last_gap = std::numeric_limits<double>::infinity();
  for (const double tolerance : {1e-1, 1e-3, 1e-6, 1e-9}) {
    const TransportPlan t =
        transport(cost, {}, {}, lambda, {.tolerance = tolerance, .keep_going = {}});
    EXPECT_LE(t.result.dual, optimum + 1e-12);
    EXPECT_GE(t.result.gap, optimum - t.result.dual - 1e-12);
    EXPECT_LE(t.result.gap, last_gap);
    last_gap = t.result.gap;
  }
  EXPECT_LE(last_gap, 1e-7);
}

TEST(Transport, ApproachesTheExactCost) {
  const Matrix cost = test::random_cost(20, 15, 11);
  const ExactPlan exact =
      exact_transport(cost, test::uniform_weights(20), test::uniform_weights(15));
  double last = std::numeric_limits<double>::infinity();
  for (const double lambda : {1e-1, 1e-2, 1e-3, 1e-4}) {
    const TransportPlan t = transport(cost, {}, {}, lambda, {.tolerance = 1e-9, .keep_going = {}});
    const double excess = t.result.cost - exact.cost;
    EXPECT_GE(excess, -1e-8);
    EXPECT_LE(excess, last);
    EXPECT_LE(excess, lambda * std::log(20.0 * 15.0));  // the entropy's range bounds the excess
    last = excess;
  }
}

TEST(Transport, ZeroWeightsAreAsGoodAsAbsentPoints) {
  const Matrix cost = test::random_cost(6, 5, 13);
  Vector p = test::random_weights(6, 3), q = test::random_weights(5, 4);
  p[2] = 0;
  q[0] = 0;
  const TransportPlan t = transport(cost, p, q, 0.1);
  EXPECT_TRUE(t.result.converged);
  EXPECT_EQ(t.plan.row(2).sum(), 0);
  EXPECT_EQ(t.plan.col(0).sum(), 0);
  EXPECT_EQ(t.f[2], -std::numeric_limits<double>::infinity());
  const std::vector<Index> rows{0, 1, 3, 4, 5}, columns{1, 2, 3, 4};
  const TransportPlan small = transport(cost(rows, columns), p(rows), q(columns), 0.1);
  EXPECT_LE((t.plan(rows, columns) - small.plan).lpNorm<1>(), 1e-14);
}

TEST(Transport, OnePointOnEitherSide) {
  const Matrix cost = test::random_cost(1, 7, 17);
  const Vector q = test::random_weights(7, 5);
  EXPECT_LE((transport(cost, {}, q, 1e-3).plan.row(0).transpose() - q).lpNorm<1>(), 1e-12);
  EXPECT_LE((transport(cost.transpose(), q, {}, 1e-3).plan.col(0) - q).lpNorm<1>(), 1e-12);
  EXPECT_NEAR(transport(Matrix::Zero(1, 1), {}, {}, 1).plan(0, 0), 1, 1e-14);
}

TEST(Transport, WarmStartsAreCheaperAndEndInTheSamePlan) {
  const Matrix x = test::random_matrix(60, 3, 1), z = test::random_matrix(70, 3, 2);
  Transport warm(test::uniform_weights(60), test::uniform_weights(70)),
      cold(test::uniform_weights(60), test::uniform_weights(70));
  warm.set_points(x, z);
  warm.solve(0.02, {.tolerance = 1e-10, .keep_going = {}});
  const Matrix moved = z * 1.01;
  warm.set_points(x, moved);
  cold.set_points(x, moved);
  const TransportResult again = warm.solve(0.02, {.tolerance = 1e-10, .keep_going = {}});
  const TransportResult first = cold.solve(0.02, {.tolerance = 1e-10, .keep_going = {}});
  EXPECT_LT(again.passes, first.passes);
  EXPECT_LE((warm.plan() - cold.plan()).lpNorm<1>(), 1e-8);
}

TEST(Transport, StartsFromPotentialsItIsGiven) {
  const Matrix cost = test::random_cost(60, 50, 3);
  Transport first(test::uniform_weights(60), test::uniform_weights(50)),
      second(test::uniform_weights(60), test::uniform_weights(50));
  first.set_cost(cost);
  second.set_cost(cost);
  const TransportResult cold = first.solve(0.02);
  second.start_from(first.g());
  const TransportResult warm = second.solve(0.02);
  EXPECT_TRUE(warm.converged);
  EXPECT_LT(2 * warm.passes, cold.passes);
  EXPECT_LE(test::difference(first.plan(), second.plan()), 1e-6);
  EXPECT_TRUE(test::contains(test::message_of([&] { second.start_from(first.f()); }),
                             "60 potentials for 50 target weights"));
}

TEST(Transport, TheOneCallFormStartsFromPotentialsToo) {
  const Matrix cost = test::random_cost(60, 50, 4);
  Vector p = test::uniform_weights(60), q = test::uniform_weights(50);
  p[3] = q[7] = 0;  // and its potential is -infinity
  const TransportPlan cold = transport(cost, p, q, 0.02);
  const TransportPlan warm = transport(cost, p, q, 0.02, {}, {}, cold.g);
  EXPECT_LT(2 * warm.result.passes, cold.result.passes);
  EXPECT_LE(test::difference(cold.plan, warm.plan), 1e-6);
  EXPECT_EQ(warm.plan.row(3).sum() + warm.plan.col(7).sum(), 0);
  EXPECT_TRUE(test::contains(
      test::message_of([&] { transport(cost, p, q, 0.02, {}, {}, test::uniform_weights(60)); }),
      "start"));
}

TEST(Transport, AWarmStartFromAFarCostIsNoWorseThanACold) {
  const Index n = 30;
  Transport warm(test::uniform_weights(n), test::uniform_weights(n)),
      cold(test::uniform_weights(n), test::uniform_weights(n));
  warm.set_cost(1e4 * test::random_cost(n, n, 1));
  warm.solve(1);
  const Matrix cost = test::random_cost(n, n, 2);
  warm.set_cost(cost);  // the old potentials are off by 1e7 lambda
  cold.set_cost(cost);
  const TransportResult again = warm.solve(1e-3);
  EXPECT_TRUE(again.converged);
  EXPECT_LE(again.passes, cold.solve(1e-3).passes + 10);
}

TEST(Transport, TheSameBitsForEveryNumberOfThreads) {
  const Matrix cost = test::random_cost(400, 300, 19);  // large enough to be shared out
  const TransportPlan one = transport(cost, {}, {}, 0.01, {}, {.threads = 1});
  for (const int threads : {2, 3, 7}) {
    const TransportPlan more = transport(cost, {}, {}, 0.01, {}, {.threads = threads});
    EXPECT_TRUE(one.f == more.f && one.g == more.g && one.plan == more.plan) << threads;
    EXPECT_EQ(one.result.gap, more.result.gap);
  }
}

TEST(Transport, EverySolverEndsInTheSamePlan) {
  const Matrix cost = test::random_cost(60, 50, 3);
  for (const double lambda : {1.0, 0.1, 0.02, 0.005}) {
    Matrix first;
    for (const SolverChoice solver : {SolverChoice::automatic, SolverChoice::sinkhorn,
                                      SolverChoice::anderson, SolverChoice::newton}) {
      Transport problem(test::uniform_weights(60), test::uniform_weights(50));
      problem.set_cost(cost);
      const TransportResult result =
          problem.solve(lambda, {.tolerance = 1e-9, .solver = solver, .keep_going = {}});
      EXPECT_TRUE(result.converged) << name(solver) << " at " << lambda;
      EXPECT_LE(std::max(result.source_error, result.target_error), 1.1e-9) << name(solver);
      if (first.size() == 0) first = problem.plan();
      EXPECT_LE((problem.plan() - first).lpNorm<1>(), 1e-7) << name(solver) << " at " << lambda;
      EXPECT_EQ(result.newton_steps > 0 && solver == SolverChoice::sinkhorn, false);
      EXPECT_EQ(result.passes,
                result.by_kind.fused + result.by_kind.products + result.by_kind.exponentials);
    }
  }
}

TEST(Transport, ExtrapolationSavesIterations) {
  // Two far groups that exchange a little mass: Sinkhorn contracts slowly.
  Matrix cost = test::random_cost(80, 80, 5);
  cost.topRightCorner(41, 40).array() += 1;
  cost.bottomLeftCorner(39, 40).array() += 1;
  const auto iterations = [&](SolverChoice solver) {
    Transport problem(test::uniform_weights(80), test::uniform_weights(80));
    problem.set_cost(cost);
    return problem.solve(0.02, {.tolerance = 1e-8, .solver = solver, .keep_going = {}})
        .by_kind.fused;
  };
  EXPECT_LT(2 * iterations(SolverChoice::anderson), iterations(SolverChoice::sinkhorn));
}

// Where both clouds lie far away, and far from each other, costs keep their digits.
TEST(Transport, PlacesOfThePointsDoNotMatter) {
  const Matrix x = test::random_matrix(30, 4, 1), z = test::random_matrix(25, 4, 2);
  for (const double memory : {1.0, 1e-9}) {
    Transport near(test::uniform_weights(30), test::uniform_weights(25), {.memory = memory});
    near.set_points(x, z);
    const TransportResult expected = near.solve(0.5);
    for (const double offset : {1e4, 1e8}) {
      Transport far(test::uniform_weights(30), test::uniform_weights(25), {.memory = memory});
      far.set_points(x.array() + offset, z.array() + offset);
      const TransportResult result = far.solve(0.5);
      EXPECT_TRUE(result.converged);
      EXPECT_NEAR(result.cost, expected.cost, 1e-15 * 100 * offset * expected.cost);
      EXPECT_LE((far.plan() - near.plan()).lpNorm<1>(), 1e-15 * 1000 * offset);
    }
    // A distance between the clouds adds one number to each row and each column of the costs.
    Transport apart(test::uniform_weights(30), test::uniform_weights(25), {.memory = memory});
    apart.set_points(x, z.array() + 1e4);
    EXPECT_TRUE(apart.solve(0.5).converged);
    EXPECT_LE((apart.plan() - near.plan()).lpNorm<1>(), 1e-5);
  }
}

TEST(Transport, TinyWeightsAreMet) {
  for (const double tiny : {1e-30, 1e-95, 1e-200}) {
    Vector q = test::random_weights(30, 6);
    q[4] = tiny;
    const TransportPlan t = transport(test::random_cost(30, 30, 31), q, q, 1e-3);
    EXPECT_TRUE(t.result.converged) << tiny;
    EXPECT_LE(t.result.target_error, 1e-6) << tiny;
  }
}

TEST(Transport, NegativeCostsAreAnnealedToo) {
  const Matrix cost = test::random_cost(100, 100, 3);
  const double lambda = cost.maxCoeff() / 5e3;
  const TransportPlan t = transport(cost, {}, {}, lambda);
  const TransportPlan below = transport(cost.array() - cost.maxCoeff(), {}, {}, lambda);
  EXPECT_TRUE(below.result.converged);
  EXPECT_LE(below.result.passes, 2 * t.result.passes);
}

// Neither the plan nor the potentials in units of lambda depend on the unit of the cost.
TEST(Transport, AnyUnitOfTheCost) {
  const Matrix cost = test::random_cost(20, 15, 5);
  const TransportPlan plain = transport(cost, {}, {}, 0.05, {.tolerance = 1e-10});
  for (const int shift : {-1000, -950, 900}) {
    const auto scaled = [&](double value) { return std::ldexp(value, shift); };
    const TransportPlan t =
        transport(Matrix(cost.unaryExpr(scaled)), {}, {}, scaled(0.05), {.tolerance = 1e-10});
    EXPECT_TRUE(t.result.converged);
    EXPECT_LE((t.plan - plain.plan).cwiseAbs().sum(), 1e-8);
    EXPECT_NEAR(std::ldexp(t.result.cost, -shift), plain.result.cost, 1e-9);
    EXPECT_NEAR(std::ldexp(t.f[3], -shift), plain.f[3], 1e-6);
  }
}

TEST(Transport, RefusesWhatItCannotUse) {
  const Matrix cost = test::random_cost(3, 3, 29);
  EXPECT_THROW(transport(cost, {}, {}, 0), Error);
  EXPECT_THROW(transport(cost, {}, {}, -1), Error);
  EXPECT_THROW(transport(cost, {}, {}, std::nan("")), Error);
  EXPECT_THROW(transport(cost, Vector::Ones(4), {}, 1), Error);
  EXPECT_THROW(transport(cost, -Vector::Ones(3), {}, 1), Error);
  EXPECT_THROW(transport(cost, Vector::Zero(3), {}, 1), Error);
  EXPECT_THROW(transport(Matrix(), {}, {}, 1), Error);
  Matrix bad = cost;
  bad(1, 2) = std::nan("");
  EXPECT_THROW(transport(bad, {}, {}, 1), Error);
  EXPECT_THROW(Transport(Vector::Zero(3), test::uniform_weights(3)), Error);
  Transport heavy(Vector::Ones(3), test::uniform_weights(3));
  heavy.set_cost(cost);
  EXPECT_THROW(heavy.solve(1), Error);  // sums that are exact add up to 1
  EXPECT_THROW(heavy.solve(1, {.relax_source = -1}), Error);
  Transport problem(test::uniform_weights(3), test::uniform_weights(3));
  EXPECT_THROW(problem.solve(1), Error);
  EXPECT_THROW(problem.set_cost(bad), Error);
  EXPECT_THROW(problem.set_cost(Matrix::Zero(3, 4)), Error);
  EXPECT_THROW(problem.set_points(Matrix::Zero(3, 1), Matrix::Zero(3, 2)), Error);
  problem.set_cost(cost);
  EXPECT_THROW(problem.solve(0), Error);
  EXPECT_THROW(problem.solve(1, {.tolerance = 0, .keep_going = {}}), Error);
  EXPECT_THROW(problem.solve(1, {.max_passes = 0}), Error);
  EXPECT_THROW(Transport(test::uniform_weights(3), test::uniform_weights(3), {.threads = -3}),
               Error);
  EXPECT_THROW(
      Transport(test::uniform_weights(3), test::uniform_weights(3), {.memory = std::nan("")}),
      Error);
}

// Nothing is factorised beyond some thousand columns, on the side that Newton steps work on.
TEST(TransportSlow, ManyMoreRowsThanColumnsAndTheOtherWayRound) {
  for (const auto& [m, n] : {std::pair<Index, Index>(5000, 40), {40, 5000}, {4200, 300}}) {
    const Matrix x = test::random_matrix(m, 4, 1), z = test::random_matrix(n, 4, 2);
    Transport problem(test::uniform_weights(m), test::uniform_weights(n), {.threads = 1});
    problem.set_points(x, z);
    const TransportResult result = problem.solve(0.05);
    EXPECT_TRUE(result.converged) << m << " x " << n;
    EXPECT_LE((problem.plan().colwise().sum().transpose() - test::uniform_weights(n)).lpNorm<1>(),
              1e-6);
    EXPECT_GT(result.newton_steps, 0) << m << " x " << n;
  }
}

// Plain Sinkhorn iterations do not get there at all.
TEST(TransportSlow, MnistPixelsAtTenThousand) {
  const Sample sample = mnist_sample();
  Transport t(test::uniform_weights(500), test::uniform_weights(500));
  t.set_points(sample.source.points, sample.target.points);
  Matrix largest = sample.source.points * sample.target.points.transpose();
  largest *= -2;
  largest.colwise() += sample.source.points.rowwise().squaredNorm();
  largest.rowwise() += sample.target.points.rowwise().squaredNorm().transpose();
  const TransportResult result = t.solve(largest.maxCoeff() / 1e4);
  EXPECT_TRUE(result.converged);
  EXPECT_LE(result.source_error, 1e-6);
  EXPECT_LE(result.target_error, 1e-6);
  EXPECT_LE(result.gap, 1e-5 * largest.maxCoeff());
}

}  // namespace
}  // namespace remblai
