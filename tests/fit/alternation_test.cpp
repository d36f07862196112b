// The outer loop: what a step records, acceleration, and the end.
#include "fit/alternation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fit/session.h"
#include "support.h"

namespace remblai {
namespace {

TEST(Alternation, BriefHistoriesLeaveOutOnlyWhatCostsTime) {
  const Problem problem = test::small_problem();
  Session full(problem, {}, Span::displacements), brief(problem, {}, Span::displacements);
  full.fit({}, {});
  brief.fit({}, {.diagnostics = Diagnostics::brief});
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
  int rejected = 0;
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
    int taken_back = 0;
    for (const Step& step : model.history) taken_back += step.rejected;
    EXPECT_LE(taken_back, 3) << lambda;
    rejected += taken_back;
  }
  EXPECT_GE(rejected, 1);
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
