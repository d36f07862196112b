// What the page warns of, and what it does not.
#include <gtest/gtest.h>

#include "report/page_data.h"
#include "report/page_test_tools.h"

namespace remblai {
namespace {

TEST(Page, WarnsInPlainWords) {
  Problem problem = small_problem();
  problem.target.labels = {};
  const auto said = [&](const Options& options, const PageOptions& page = {}) {
    return warnings(data_of(fit(problem, options), page, with_flags()));
  };
  EXPECT_EQ(said({}), "[]");
  EXPECT_TRUE(contains(said({.steps = 1}), "did not converge"));
  EXPECT_TRUE(contains(said({.steps = 1}), "--steps"));
  EXPECT_TRUE(contains(said({.ridge = 50}), "ridge dominates"));
  EXPECT_FALSE(contains(said({.ridge = 0.01}), "ridge dominates"));
  EXPECT_TRUE(contains(said({.lambda = 100}), "hardly depends"));
  problem.source.labels.setConstant(3);
  EXPECT_TRUE(contains(said({}), "same label"));
}

TEST(Page, WarnsOfClasses) {
  Problem problem = small_problem();
  problem.target.labels = {};
  const auto said = [&](const PageOptions& page) {
    return warnings(data_of(fit(problem), page, with_flags()));
  };
  PageOptions page;
  page.predicted = Labels::Constant(40, 3);
  EXPECT_TRUE(contains(said(page),
                       "No target point was given class 7, though its source points hold 50.0 % of "
                       "the mass."))
      << said(page);
  EXPECT_TRUE(contains(said(page), "If that class should be there, lower --lambda"));
  EXPECT_FALSE(contains(said(page), "--source-weights"));
  // The true labels tell the two cases apart.
  page.target_labels = Labels::Constant(40, 3);
  page.target_labels[0] = 9;
  EXPECT_TRUE(contains(said(page), "The target has no point of class 7"));
  EXPECT_TRUE(contains(said(page), "--source-weights"));
  EXPECT_FALSE(contains(said(page), "--lambda"));
  EXPECT_TRUE(contains(said(page), "No source point is of class 9"));
  page.target_labels[1] = 7;
  EXPECT_TRUE(contains(said(page), "No target point was given class 7"));
  EXPECT_TRUE(contains(said(page), "it is in the target"));
  EXPECT_FALSE(contains(said(page), "--source-weights"));
  page.target_labels.setConstant(1);
  EXPECT_TRUE(contains(said(page), "no point of classes 3, 7, so that the mass of their source"));
  // What weighs nothing is not there.
  page = {};
  page.predicted = Labels::Constant(40, 3);
  page.predicted[0] = 7;
  EXPECT_EQ(said(page), "[]");
  problem.target.weights = Vector::Ones(40);
  problem.target.weights[0] = 0;
  EXPECT_TRUE(contains(said(page), "No target point was given class 7")) << said(page);
  problem.source.labels[0] = 8;
  problem.source.weights = Vector::Ones(30);
  problem.source.weights[0] = 0;
  EXPECT_FALSE(contains(said(page), "8")) << said(page);
}

// A class-aware plan gives a class what its share in the target is, not what it has in the source.
TEST(Page, WeighsClassesByThePlan) {
  Problem problem = small_problem();
  for (Index i = 0; i < 30; ++i)
    problem.source.points.row(i).array() += problem.source.labels[i] == 7 ? 20 : 0;
  problem.target.points = problem.source.points(Eigen::seq(0, 29, 2), Eigen::all).eval();
  problem.target.labels = {};
  Options options{.method = Method::class_aware};
  options.classes.translation = Translation::no;
  PageOptions page;
  page.target_labels = page.predicted = Labels::Constant(15, 3);
  const auto said = [&] { return warnings(data_of(fit(problem, options), page, with_flags())); };
  EXPECT_FALSE(contains(said(), "no point of class 7")) << said();
  options.classes.target_shares = Matrix{{0.75, 0.25}};
  EXPECT_TRUE(contains(said(), "points, 25.0 % of the whole, has to go to other classes"))
      << said();
  EXPECT_TRUE(contains(said(), "--target-shares"));
  page.target_labels = {};
  EXPECT_TRUE(contains(said(), "hold 25.0 % of the mass")) << said();
  EXPECT_TRUE(contains(said(), "--known-labels"));
  EXPECT_FALSE(contains(said(), "--lambda"));
}

TEST(Page, WarningsHaveTheNamesOfTheirReader) {
  Problem problem = small_problem();
  const Model model = fit(problem, {.steps = 1});
  EXPECT_TRUE(contains(warnings(data_of(model)), "give more Options::steps"));
  EXPECT_TRUE(contains(warnings(data_of(model, {}, with_flags())), "give more --steps"));
  PageOptions page;
  page.predicted = Labels::Constant(40, 3);
  page.class_names = {{7, "a $lambda --ridge"}};
  problem.target.labels = {};
  const std::string said = warnings(data_of(fit(problem), page, with_flags()));
  EXPECT_TRUE(contains(said, "was given class a $lambda --ridge, though")) << said;
  EXPECT_TRUE(contains(said, "lower --lambda")) << said;
}

TEST(Page, AMatchingOfUnequalWeightsDependsOnThePoints) {
  Problem problem;
  problem.source.points = Matrix{{0, 0}, {1, 1}};
  problem.target.points = problem.source.points;
  problem.source.weights = problem.target.weights = Vector{{0.996, 0.004}};
  const Options options{.metric = MetricChoice::identity, .lambda = 0.01};
  EXPECT_FALSE(contains(warnings(data_of(fit(problem, options))), "hardly depends"));
  problem.source.weights = Vector{{1, 0}};
  EXPECT_FALSE(contains(warnings(data_of(fit(problem, options))), "hardly depends"))
      << "one point has no choice";
}

TEST(Page, TheRidgeIsWeighedWhereThereAreData) {
  // Scaled, so that no factor of the units can be forgotten.
  Problem problem = small_problem(20, 20, 5);
  problem.source.points *= 1000;
  problem.target.points *= 1000;
  const Model model = fit(problem, {.ridge = 50});
  const Step& last = model.history.back();
  const double share = last.ridge_term / (last.ridge_term + last.transport_cost);
  EXPECT_TRUE(contains(warnings(data_of(model)),
                       "takes " + std::to_string(std::lround(100 * share)) + " %"))
      << share << warnings(data_of(model));
  // A thousand coordinates that never vary are none of the data's business.
  problem.source.points.conservativeResize(20, 1000);
  problem.target.points.conservativeResize(20, 1000);
  problem.source.points.rightCols(995).setZero();
  problem.target.points.rightCols(995).setZero();
  const Model wide = fit(problem, {.ridge = 1});
  EXPECT_GT(wide.history.back().ridge_term, 2 * wide.history.back().transport_cost);
  EXPECT_FALSE(contains(warnings(data_of(wide)), "ridge dominates")) << warnings(data_of(wide));
}

}  // namespace
}  // namespace remblai
