// The outer loop along a path of lambda: every run is the one a fit would make, whatever came
// before.
#include "fit/alternation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "remblai/map.h"
#include "support.h"

namespace remblai {
namespace {

Space space_of(const Problem& problem, const Options& options) {
  return make_space(problem, problem.source.points, problem.target.points, options);
}

TEST(Alternation, ARunDoesNotDependOnTheRunsBefore) {
  const Problem problem = test::small_problem();
  for (const MetricChoice metric : {MetricChoice::learned, MetricChoice::w})
    for (const int seed : {0, 3}) {
      const Options options{.metric = metric,
                            .tolerance = 1e-10,
                            .outer_tolerance = 1e-6,
                            .inner = InnerTolerance::tight,
                            .seed = seed};
      const Space space = space_of(problem, options);
      Alternation path(space, options, 1);
      for (const double lambda : {0.0, 2.0, 0.3, 0.05, 0.0, 0.3}) {
        path.run(lambda);
        Options single = options;
        single.lambda = lambda;
        const Model model = fit(problem, single);
        ASSERT_EQ(path.status().outcome, model.status.outcome) << lambda;
        EXPECT_EQ(path.lambda(), model.lambda);
        EXPECT_EQ(path.exact().size(), model.exact.size());
        EXPECT_EQ(path.history().size(), model.history.size()) << lambda;
        EXPECT_NEAR(path.history().back().objective, model.history.back().objective,
                    1e-8 * std::abs(model.history.back().objective))
            << lambda;
        EXPECT_NEAR(path.history().front().objective, model.history.front().objective,
                    1e-8 * std::abs(model.history.front().objective))
            << lambda;
        EXPECT_LE(test::difference(path.metric().factor, model.metric.factor),
                  1e-5 * model.metric.factor.norm())
            << lambda;
      }
    }
}

TEST(Alternation, ConditionalsOfEmbeddedPointsAreEmbeddedBarycentres) {
  const Problem problem = test::small_problem(20, 15, 40);  // in a span of 35 dimensions
  for (const double lambda : {0.2, 0.0}) {
    const Options options{.lambda = lambda};
    const Space space = space_of(problem, options);
    Alternation alternation(space, options, 1);
    alternation.run(lambda);
    const Matrix weights = alternation.conditionals();
    EXPECT_LE((weights.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-12);
    const Matrix mapped = map(fit(problem, options), problem.source.points);
    EXPECT_LE(test::difference(weights * alternation.embed(space.z),
                               alternation.embed(space.frame.coordinates(mapped))),
              1e-4)
        << lambda;
  }
}

TEST(Alternation, BriefHistoriesLeaveOutOnlyWhatCostsTime) {
  const Problem problem = test::small_problem();
  const Options options;
  const Space space = space_of(problem, options);
  Alternation full(space, options, 1), brief(space, options, 1, Diagnostics::brief);
  full.run(0.2);
  brief.run(0.2);
  ASSERT_EQ(full.history().size(), brief.history().size());
  ASSERT_GE(full.history().size(), 2u);
  const Step& a = full.history().back();
  const Step& b = brief.history().back();
  EXPECT_EQ(a.objective, b.objective);
  EXPECT_EQ(a.distance_change, b.distance_change);
  EXPECT_LE(a.riccati_residual, 1e-10);
  EXPECT_GT(a.metric_change, 0);
  EXPECT_GT(a.condition, 1);
  for (const double left_out : {b.riccati_residual, b.metric_change, b.condition})
    EXPECT_TRUE(std::isnan(left_out));
}

TEST(Alternation, AccelerationSavesStepsAndNeverRaisesTheObjective) {
  int plain_steps = 0, mixed_steps = 0;
  for (const double lambda : {0.2, 0.05, 0.02}) {
    const Problem problem = test::small_problem();
    Options options{.lambda = lambda,
                    .steps = 500,
                    .tolerance = 1e-12,
                    .outer_tolerance = 1e-6,
                    .inner = InnerTolerance::tight,
                    .acceleration = Acceleration::none};
    const Model plain = fit(problem, options);
    options.acceleration = Acceleration::anderson;
    const Model mixed = fit(problem, options);
    ASSERT_TRUE(plain.status.converged() && mixed.status.converged()) << lambda;
    for (std::size_t k = 1; k < mixed.history.size(); ++k)
      EXPECT_LE(mixed.history[k].objective,
                mixed.history[k - 1].objective + 1e-9 * std::abs(mixed.history[k - 1].objective))
          << lambda << " at step " << k + 1;
    // Either is a fixed point: they may be different ones, but not by much here.
    EXPECT_LE(mixed.fixed_point_residual, 1e-4) << lambda;
    EXPECT_NEAR(mixed.history.back().objective, plain.history.back().objective,
                1e-3 * std::abs(plain.history.back().objective))
        << lambda;
    plain_steps += static_cast<int>(plain.history.size());
    mixed_steps += static_cast<int>(mixed.history.size());
  }
  EXPECT_LT(mixed_steps, plain_steps);
}

// Problems on which mixed moments do raise the objective, by up to 3 % in a step, unless they are
// taken back.
TEST(Alternation, AStepThatRaisesTheObjectiveIsTakenBack) {
  Problem problem;
  problem.source.points = test::random_matrix(30, 8, 2);
  problem.target.points = 1.3 * test::random_matrix(25, 8, 102);
  for (const double lambda : {0.05, 0.02, 0.005}) {
    const Model model = fit(problem, {.lambda = lambda,
                                      .steps = 60,
                                      .tolerance = 1e-10,
                                      .outer_tolerance = 1e-6,
                                      .inner = InnerTolerance::tight});
    for (std::size_t k = 1; k < model.history.size(); ++k)
      EXPECT_LE(model.history[k].objective,
                model.history[k - 1].objective + 1e-7 * std::abs(model.history[k - 1].objective))
          << lambda << " at step " << k + 1;
  }
}

// Few points, so that all pairs are looked at.
TEST(Alternation, EndsWhenSquaredDistancesSettle) {
  const Problem problem = test::small_problem();
  const auto distances = [&](int steps) {
    const Model model = fit(problem, {.lambda = 0.1, .steps = steps, .outer_tolerance = 0});
    return Matrix(model.metric.distances(problem.source.points, problem.target.points).cwiseAbs2());
  };
  const Model model = fit(problem, {.lambda = 0.1, .outer_tolerance = 1e-3});
  ASSERT_TRUE(model.status.converged());
  const int last = static_cast<int>(model.history.size());
  ASSERT_GE(last, 3);
  const Matrix before = distances(last - 1), after = distances(last);
  const double change = std::sqrt(((after - before).array() / before.array()).square().mean());
  EXPECT_NEAR(model.history.back().distance_change, change, 0.02 * change);
  EXPECT_LT(change, 1e-3);
  EXPECT_GE(model.history[model.history.size() - 2].distance_change, 1e-3);
}

}  // namespace
}  // namespace remblai
