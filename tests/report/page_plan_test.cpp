// The plan on the page: mass from class to class, the strongest pairs.
#include <gtest/gtest.h>

#include "report/page_data.h"
#include "report/page_test_tools.h"

namespace remblai {
namespace {

TEST(Page, MassFromClassToClassIsThatOfThePlan) {
  for (const double lambda : {0.2, 0.0}) {
    Problem problem = small_problem();
    problem.source.weights = test::random_weights(30, 5);
    problem.source.weights[3] = 0;
    problem.target.weights = test::random_weights(40, 6);
    const Model model = fit(problem, {.lambda = lambda, .steps = 5, .tolerance = 1e-9});
    const PlanView view = view_plan(model, problem.target.labels, {.pairs = 5});
    EXPECT_NEAR(view.mass.sum(), 1, 1e-12);
    const Matrix g = plan(model);
    Matrix expected = Matrix::Zero(2, 2);
    for (Index i = 0; i < 30; ++i)
      for (Index j = 0; j < 40; ++j) expected(i % 2, j % 2) += g(i, j);
    EXPECT_LT(test::difference(view.mass, expected), 1e-6) << lambda;
    ASSERT_EQ(view.pairs.size(), 5u);
    EXPECT_NEAR(view.pairs[0].mass, g.maxCoeff(), 1e-9);
    for (const Pair& pair : view.pairs) {
      EXPECT_NEAR(g(pair.source, pair.target), pair.mass, 1e-9);
      EXPECT_NEAR(pair.share, pair.mass / model.source.weights[pair.source], 1e-9);
    }
  }
}

TEST(Page, FewRowsOfALargePlanStandForAll) {
  const Problem problem = small_problem(600, 50, 3);
  const Model model = fit(problem, {.lambda = 1, .steps = 3});
  const PlanView all = view_plan(model, problem.target.labels);
  const PlanView few = view_plan(model, problem.target.labels, {.rows = 100});
  EXPECT_EQ(all.rows, 600);
  EXPECT_NEAR(static_cast<double>(few.rows), 100, 2);
  EXPECT_LT(test::difference(few.mass, all.mass), 0.03);
  EXPECT_LT(test::difference(few.mass.rowwise().sum(), all.mass.rowwise().sum()), 1e-9)
      << "a class weighs what it weighs";
  const Json large = data_of(fit(small_problem(4100, 10, 2), {.lambda = 1, .steps = 1}));
  EXPECT_TRUE(contains(large.dump(), "Chosen among 4000 of 4100 source points"));
  EXPECT_TRUE(contains(large.dump(), "Counted over 4000 of the 4100 source points"));
}

TEST(Page, EveryClassWithMassIsFollowed) {
  Problem problem = small_problem(1000, 30, 3);
  for (const Index i : {17, 400, 801}) problem.source.labels[i] = 9;
  problem.source.labels[5] = 11;
  problem.source.weights = Vector::Constant(1000, 1);
  problem.source.weights[5] = 0;
  const Model model = fit(problem, {.steps = 2});
  const PlanView view = view_plan(model, problem.target.labels, {.rows = 100});
  EXPECT_LT(view.rows, 110);
  const Matrix g = plan(model);
  Vector expected = Vector::Zero(2);
  for (const Index i : {17, 400, 801})
    for (Index j = 0; j < 30; ++j) expected[j % 2] += g(i, j);
  EXPECT_LT(test::difference(view.mass.row(2).transpose(), expected), 1e-9)
      << "all points of a rare class";
  EXPECT_EQ(view.mass.row(3).sum(), 0);
  const Json data = data_of(model);
  EXPECT_TRUE(block(data, "heat")["shares"][3][0].is_null()) << "a dash, not 0 %";
  EXPECT_TRUE(contains(data.dump(), "A dash"));
}

TEST(Page, StrongestPairsAreAGreedyChoice) {
  Problem problem = small_problem(40, 6, 3);  // few targets, which many sources want
  problem.source.weights = test::random_weights(40, 5);
  for (const double lambda : {0.5, 0.0}) {
    const Model model = fit(problem, {.lambda = lambda, .steps = 3, .tolerance = 1e-10});
    Matrix left = plan(model);
    const PlanView view = view_plan(model, problem.target.labels, {.pairs = 6});
    ASSERT_GE(view.pairs.size(), 4u);
    for (const Pair& pair : view.pairs) {
      Index i = 0, j = 0;
      const double largest = left.maxCoeff(&i, &j);
      EXPECT_NEAR(pair.mass, largest, 1e-8) << lambda;
      left.row(pair.source).setZero();
      left.col(pair.target).setZero();
    }
    if (view.pairs.size() < 6u) {
      EXPECT_LT(left.maxCoeff(), 1e-8) << "nothing is left";
    }
  }
}

TEST(Page, ManyClassesAreShownTogether) {
  const Classes few = group_classes(Labels{{5, 3, 5, -1}}, 3);
  EXPECT_EQ(few.shown, (Labels{{-1, 3, 5}}));
  EXPECT_FALSE(few.others);
  const Classes two = group_classes(Labels{{5, 3, 5, -1, 9, 9}}, 2);
  EXPECT_EQ(two.shown, (Labels{{5, 9}}));
  EXPECT_EQ(two.size(), 3);
  EXPECT_EQ(two.index(9), 1);
  EXPECT_EQ(two.index(3), 2);
  Problem problem = small_problem(60, 50, 3);
  for (Index i = 0; i < 60; ++i) problem.source.labels[i] = i;
  problem.target.labels = {};
  const Json data = data_of(fit(problem));
  EXPECT_EQ(block(data, "heat")["rows"].size(), 25u);
  EXPECT_EQ(block(data, "heat")["rows"][24], "others");
  EXPECT_EQ(block(data, "scatter")["classes"].size(), 25u);
}

}  // namespace
}  // namespace remblai
