// Transport whose sums are pulled towards the weights: oracles, the objective and its gap.
#include <gtest/gtest.h>

#include <cmath>

#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "remblai/transport.h"
#include "support.h"
#include "transport/transport_fixture.h"

namespace remblai {
namespace {

double divergence(const Vector& sums, const Vector& weights) {
  double total = 0;
  for (Index i = 0; i < sums.size(); ++i)
    total += sums[i] * std::log(sums[i] / weights[i]) - sums[i] + weights[i];
  return total;
}

// The objective of a plan, from its definition: the entropy is measured against the weights of the
// relaxed sides, up to constants.
double primal(const Matrix& g, const Matrix& cost, const Vector& p, const Vector& q, double lambda,
              const TransportOptions& options) {
  const auto entropy = [](double x) { return x > 0 ? x * std::log(x) - x : 0.0; };
  const Vector rows = g.rowwise().sum(), columns = g.colwise().sum().transpose();
  double value = g.cwiseProduct(cost).sum() + lambda * (g.unaryExpr(entropy).sum() + p.sum());
  const auto add_side = [&](double tau, const Vector& sums, const Vector& weights) {
    if (tau > 0)
      value += tau * divergence(sums, weights) -
               lambda * (sums - weights).dot(weights.array().log().matrix());
  };
  add_side(options.relax_source, rows, p);
  add_side(options.relax_target, columns, q);
  return value;
}

TEST(Relaxed, AgreesWithPot) {
  const Matrix cost = test::transport_fixture("cost");
  const Vector p = test::transport_fixture("p").col(0), q = test::transport_fixture("q").col(0);
  const double lambda = test::transport_fixture("lambda")(0);
  const double tight = 1e-12;
  const TransportPlan both =
      transport(cost, 1.5 * p, 0.8 * q, lambda,
                {.tolerance = tight, .relax_source = 0.3, .relax_target = 0.7});
  EXPECT_TRUE(both.result.converged);
  EXPECT_LE((both.plan - test::transport_fixture("relaxed_both")).lpNorm<1>(), 1e-9);
  EXPECT_NEAR(both.result.mass, test::transport_fixture("relaxed_both").sum(), 1e-9);
  const TransportPlan rows =
      transport(cost, p, q, lambda, {.tolerance = tight, .relax_source = 0.3});
  EXPECT_LE((rows.plan - test::transport_fixture("relaxed_rows")).lpNorm<1>(), 1e-9);
  EXPECT_LE((rows.plan.colwise().sum().transpose() - q).lpNorm<1>(), 1e-11);
  const TransportPlan columns =
      transport(cost, p, q, lambda, {.tolerance = tight, .relax_target = 0.7});
  EXPECT_LE((columns.plan - test::transport_fixture("relaxed_columns")).lpNorm<1>(), 1e-9);
}

TEST(Relaxed, EverySolverMeetsItAtEveryRatioAndTheGapHolds) {
  const Matrix cost = test::random_matrix(40, 30, 5).cwiseAbs2();
  const Vector p = test::random_weights(40, 1), q = 1.3 * test::random_weights(30, 2);
  for (const double ratio : {1.0, 100.0, 3e3})
    for (const auto& [tau_p, tau_q] :
         {std::pair(0.5, 2.0), std::pair(0.0, 0.1), std::pair(5.0, 0.0)}) {
      const double lambda = cost.maxCoeff() / ratio;
      const Vector exact_q = tau_q == 0 ? Vector(q / q.sum()) : q;
      Matrix first;
      for (const SolverChoice solver :
           {SolverChoice::automatic, SolverChoice::anderson, SolverChoice::newton}) {
        const TransportOptions options{
            .tolerance = 1e-9, .solver = solver, .relax_source = tau_p, .relax_target = tau_q};
        const TransportPlan t = transport(cost, p, exact_q, lambda, options);
        const std::string what = std::string(name(solver)) + " at " + std::to_string(ratio) + ", " +
                                 std::to_string(tau_p) + ", " + std::to_string(tau_q);
        ASSERT_TRUE(t.result.converged) << what;
        if (first.size() == 0) first = t.plan;
        EXPECT_LE((t.plan - first).lpNorm<1>(), 1e-6) << what;
        const double value = primal(t.plan, cost, p, exact_q, lambda, options);
        EXPECT_NEAR(t.result.objective(lambda), value, 1e-9 * (1 + std::abs(value))) << what;
        EXPECT_LE(t.result.dual, value + 1e-7 * (1 + std::abs(value))) << what;
        EXPECT_GE(t.result.gap, value - t.result.dual - 1e-7 * (1 + std::abs(value))) << what;
        EXPECT_LE(t.result.gap, 1e-6 * cost.maxCoeff()) << what;
      }
    }
}

// A loose solve: the gap must bound the distance to the true optimum all the same.
TEST(Relaxed, TheGapBoundsTheTruth) {
  const Matrix cost = test::random_matrix(30, 20, 7).cwiseAbs2();
  const Vector p = test::random_weights(30, 1), q = test::random_weights(20, 2);
  for (const auto& [tau_p, tau_q] :
       {std::pair(0.5, 2.0), std::pair(0.0, 0.1), std::pair(5.0, 0.0)}) {
    TransportOptions options{.tolerance = 1e-13, .relax_source = tau_p, .relax_target = tau_q};
    const TransportPlan tight = transport(cost, p, q, 0.05, options);
    const double optimum = primal(tight.plan, cost, p, q, 0.05, options);
    for (const double tolerance : {1e-1, 1e-3}) {
      options.tolerance = tolerance;
      const TransportResult loose = transport(cost, p, q, 0.05, options).result;
      EXPECT_LE(loose.dual, optimum + 1e-10);
      EXPECT_GE(loose.gap, optimum - loose.dual - 1e-10);
    }
  }
}

// With one exact side a constant in the costs changes nothing but the potentials.
TEST(Relaxed, AConstantInTheCostsDoesNotMatterBesideAnExactSide) {
  const Matrix x = test::random_matrix(60, 3, 1), z = test::random_matrix(50, 3, 2);
  Matrix cost(60, 50);
  for (Index i = 0; i < 60; ++i)
    for (Index j = 0; j < 50; ++j) cost(i, j) = (x.row(i) - z.row(j)).squaredNorm();
  for (const auto& [tau_p, tau_q] : {std::pair(0.02, 0.0), std::pair(0.0, 0.02)}) {
    const TransportOptions options{.tolerance = 1e-8, .relax_source = tau_p, .relax_target = tau_q};
    const TransportPlan expected = transport(cost, {}, {}, 0.02, options);
    ASSERT_TRUE(expected.result.converged);
    for (const double constant : {-100.0, -30.0, 30.0, 1e4}) {
      const TransportPlan t = transport(cost.array() + constant, {}, {}, 0.02, options);
      EXPECT_TRUE(t.result.converged) << constant;
      EXPECT_LE(t.result.passes, 3 * expected.result.passes + 50) << constant;
      EXPECT_LE((t.plan - expected.plan).lpNorm<1>(), 1e-6) << constant;
    }
  }
}

// The constant of the potentials is found at once, however near to exact the sides are.
TEST(Relaxed, UnequalMassesWithALargeTauAreQuick) {
  const Matrix cost = test::random_matrix(40, 30, 5).cwiseAbs2();
  const Vector p = 2 * test::random_weights(40, 1), q = test::random_weights(30, 2);
  for (const double tau : {1.0, 1e3, 1e5})
    for (const SolverChoice solver : {SolverChoice::automatic, SolverChoice::anderson}) {
      const TransportPlan t =
          transport(cost, p, q, 0.05, {.solver = solver, .relax_source = tau, .relax_target = tau});
      EXPECT_TRUE(t.result.converged) << tau << " " << name(solver);
      EXPECT_LE(t.result.passes, 400) << tau << " " << name(solver);
    }
}

TEST(Relaxed, ExtremePenalties) {
  const Matrix cost = test::random_matrix(20, 15, 7).cwiseAbs2();
  const TransportPlan exact = transport(cost, {}, {}, 0.1);
  const TransportPlan huge = transport(cost, {}, {}, 0.1, {.relax_target = 1e300});
  EXPECT_LE((exact.plan - huge.plan).lpNorm<1>(), 1e-9);
  EXPECT_TRUE(test::contains(
      test::message_of([&] { transport(cost, {}, {}, 0.1, {.relax_source = 1e-12}); }),
      "Options::relax_source: 1.0e-12 is too small"));
}

TEST(Relaxed, FarPointsAreLeftAlone) {
  Matrix cost = test::random_matrix(20, 15, 7).cwiseAbs2();
  cost.row(3).array() += 1e6;  // nobody pays that much
  cost.col(4).array() += 1e6;
  const TransportPlan t = transport(cost, {}, {}, 0.01, {.relax_source = 0.5, .relax_target = 0.5});
  EXPECT_TRUE(t.result.converged);
  EXPECT_TRUE(t.plan.allFinite());
  EXPECT_LE(t.plan.row(3).sum() + t.plan.col(4).sum(), 1e-12);
  EXPECT_GT(t.result.mass, 0.5);
  EXPECT_LT(t.result.mass, 1);
}

TEST(Relaxed, AFitLearnsAMetricFromARelaxedPlanAndItsObjectiveFalls) {
  Problem problem = test::small_problem();
  problem.source.points.row(0).array() += 40;  // an outlier
  const Model model = fit(problem, {.lambda = 0.1,
                                    .relax_source = 0.5,
                                    .relax_target = 0.5,
                                    .tolerance = 1e-10,
                                    .inner = InnerTolerance::tight,
                                    .acceleration = Acceleration::none});
  ASSERT_TRUE(model.status.converged()) << model.status.reason();
  for (std::size_t k = 1; k < model.history.size(); ++k)
    EXPECT_LE(model.history[k].objective,
              model.history[k - 1].objective + 1e-8 * std::abs(model.history[k - 1].objective));
  const Step& last = model.history.back();
  EXPECT_NE(last.relaxation, 0);
  EXPECT_NEAR(last.objective,
              last.transport_cost + last.relaxation + last.prior_term + last.ridge_term -
                  model.lambda * last.entropy,
              1e-12 * std::abs(last.objective));
  const Matrix g = plan(model);
  const Vector rows = g.rowwise().sum();
  EXPECT_LT(rows[0], 0.5 * rows.tail(29).mean());
  EXPECT_LT(g.sum(), 1);
  // The plan of the model is that of its potentials.
  const Matrix costs = model.metric.distances(model.source.points, model.target.points).cwiseAbs2();
  const Matrix expected =
      ((costs.colwise() - model.f).rowwise() - model.g.transpose()) / -model.lambda;
  EXPECT_LE((g - expected.array().exp().matrix()).lpNorm<1>(), 1e-8);
  EXPECT_TRUE(map(model).allFinite());
  EXPECT_EQ(predict(model, problem.target.points).size(), 40);
  EXPECT_TRUE(test::contains(
      test::message_of([&] { fit(problem, {.lambda = 0, .relax_source = 1}); }), "entropic"));
}

}  // namespace
}  // namespace remblai
