// The plan of a model: marginals, potentials, exactness, and models that did not get that far.
#include "remblai/model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "support.h"

namespace remblai {
namespace {

using test::difference;
using test::message_of;
using test::small_problem;

Options tight(double lambda = 0.05) {
  Options options;
  options.lambda = lambda;
  options.steps = 5;
  options.tolerance = 1e-9;
  return options;
}

Problem problem_with_zero_weights() {
  Problem problem = small_problem();
  problem.source.weights = 3 * test::random_weights(30, 5);
  problem.source.weights(7) = 0;
  problem.target.weights = 5 * test::random_weights(40, 6);
  problem.target.weights(0) = 0;
  return problem;
}

TEST(Model, plan_has_the_marginals_of_the_domains) {
  const Problem problem = problem_with_zero_weights();
  for (const double lambda : {0.0, 1e-3, 0.05, 10.0}) {
    const Model model = fit(problem, tight(lambda));
    const Matrix g = plan(model);
    ASSERT_EQ(g.rows(), 30);
    ASSERT_EQ(g.cols(), 40);
    EXPECT_GE(g.minCoeff(), 0);
    EXPECT_LT((g.rowwise().sum() - problem.source.probabilities()).lpNorm<1>(), 1e-8) << lambda;
    EXPECT_LT((g.colwise().sum().transpose() - problem.target.probabilities()).lpNorm<1>(), 1e-8)
        << lambda;
  }
}

TEST(Model, plan_is_made_of_the_potentials) {
  const Problem problem = problem_with_zero_weights();
  for (const double lambda : {1e-2, 0.05, 10.0}) {
    const Model model = fit(problem, tight(lambda));
    const Matrix g = plan(model);
    const Matrix away = distances(model, problem.source.points, problem.target.points);
    const Matrix expected =
        (((-away.cwiseAbs2()).colwise() + model.f).rowwise() + model.g.transpose())
            .unaryExpr([&](double e) { return std::exp(e / model.lambda); });
    EXPECT_LT(difference(g, expected), 1e-8 / 30) << lambda;
  }
}

TEST(Model, potentials_of_weight_zero_are_minus_infinity) {
  for (const double lambda : {0.0, 0.05}) {
    const Model model = fit(problem_with_zero_weights(), tight(lambda));
    EXPECT_EQ(model.f(7), -HUGE_VAL);
    EXPECT_EQ(model.g(0), -HUGE_VAL);
    EXPECT_EQ(std::count(model.f.begin(), model.f.end(), -HUGE_VAL), 1);
    EXPECT_EQ(std::count(model.g.begin(), model.g.end(), -HUGE_VAL), 1);
    const Matrix g = plan(model);
    EXPECT_EQ(g.row(7).sum(), 0);
    EXPECT_EQ(g.col(0).sum(), 0);
  }
}

TEST(Model, exact_plan_is_sparse_and_meets_its_dual) {
  const Problem problem = problem_with_zero_weights();
  const Model model = fit(problem, tight(0));
  const Matrix g = plan(model);
  EXPECT_LE(model.exact.size(), 69u);
  EXPECT_EQ((g.array() > 0).count(), static_cast<Index>(model.exact.size()));
  const Matrix cost = distances(model, problem.source.points, problem.target.points).cwiseAbs2();
  const double largest = cost.maxCoeff();
  for (Index i = 0; i < 30; ++i)
    for (Index j = 0; j < 40; ++j) {
      if (model.f(i) == -HUGE_VAL || model.g(j) == -HUGE_VAL) continue;
      const double slack = cost(i, j) - model.f(i) - model.g(j);
      EXPECT_GE(slack, -1e-9 * largest);
      if (g(i, j) > 0) {
        EXPECT_LT(slack, 1e-9 * largest);
      }
    }
  EXPECT_NEAR(g.cwiseProduct(cost).sum(), model.history.back().transport_cost, 1e-9 * largest);
}

TEST(Model, history_describes_the_plan) {
  const Problem problem = problem_with_zero_weights();
  const Model model = fit(problem, tight());
  const Matrix g = plan(model);
  const Step& last = model.history.back();
  const Matrix cost = distances(model, problem.source.points, problem.target.points).cwiseAbs2();
  EXPECT_NEAR(last.transport_cost, g.cwiseProduct(cost).sum(), 1e-8 * last.transport_cost);
  double entropy = 0;
  for (const double mass : g.reshaped()) entropy -= mass > 0 ? mass * std::log(mass) : 0;
  EXPECT_NEAR(last.entropy, entropy, 1e-7);
  EXPECT_NEAR(last.ridge_term, model.ridge * model.metric.matrix().trace(), 1e-9 * last.ridge_term);
  EXPECT_NEAR(last.objective,
              last.transport_cost + last.prior_term + last.ridge_term - model.lambda * last.entropy,
              1e-12 * std::abs(last.objective));
}

TEST(Model, keeps_options_labels_and_normalised_weights) {
  const Problem problem = problem_with_zero_weights();
  const Model model = fit(problem, tight());
  EXPECT_EQ(model.options.steps, 5);
  EXPECT_EQ(model.source.labels, problem.source.labels);
  EXPECT_EQ(model.target.labels, problem.target.labels);
  EXPECT_EQ(model.source.points, problem.source.points);
  EXPECT_NEAR(model.source.weights.sum(), 1, 1e-14);
  EXPECT_NEAR(model.target.weights.sum(), 1, 1e-14);
}

TEST(Model, a_stopped_run_can_be_used) {
  const Problem problem = small_problem();
  const Model model = fit(problem, tight(), [](const Progress&) { return false; });
  EXPECT_EQ(model.status.outcome, Outcome::stopped);
  EXPECT_EQ(model.history.size(), 1u);
  EXPECT_TRUE(plan(model).allFinite());
  EXPECT_TRUE(map(model).allFinite());
  EXPECT_EQ(predict(model, problem.target.points).size(), 40);
}

// What is asked of a model that fit did not return is refused, and never reads what is not there.
TEST(Model, an_empty_model_holds_no_plan) {
  Model model;
  model.source.points = model.target.points = Matrix::Zero(2, 1);
  model.source.weights = model.target.weights = Vector::Constant(2, 0.5);
  model.metric.frame.origin = Vector::Zero(1);
  EXPECT_THROW(map(model), Error);
  EXPECT_THROW(map_back(model, model.target.points), Error);
  model.lambda = 1;
  EXPECT_THROW(plan(model), Error);
}

// Two columns that agree to ten digits and no ridge: W has no Cholesky factor in double precision.
TEST(Model, a_fixed_metric_is_the_one_asked_for_or_none) {
  Problem problem = small_problem(12, 12);
  for (Domain* domain : {&problem.source, &problem.target})
    domain->points.col(1) = domain->points.col(0) + 1e-10 * domain->points.col(1);
  const Matrix& x = problem.source.points;
  const Matrix& z = problem.target.points;
  const Matrix w = x.transpose() * x + z.transpose() * z;
  Options options = tight();
  options.metric = MetricChoice::w;
  options.prior_ridge = 0;
  Matrix found;
  const std::string message = message_of([&] { found = fit(problem, options).metric.matrix(); });
  if (message.empty()) {
    EXPECT_LT(difference(found, w), 1e-9 * w.norm());
  } else {
    EXPECT_EQ(message.rfind("Options::prior_ridge: 0 ", 0), 0u) << message;
  }
  options.prior_ridge = 1e-3;
  const Matrix expected = w + 1e-3 * w.trace() / 5 * Matrix::Identity(5, 5);
  EXPECT_LT(difference(fit(problem, options).metric.matrix(), expected), 1e-9 * w.norm());
}

}  // namespace
}  // namespace remblai
