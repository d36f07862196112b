// Coordinates of the span: distances, ranks and references, and the fits that must not notice them.
#include "fit/space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "remblai/spd.h"
#include "support.h"

namespace remblai {
namespace {

Space space_of(const Matrix& x, const Matrix& z, const Options& options = {}) {
  const auto uniform = [](Index n) -> Vector {
    return Vector::Constant(n, 1.0 / static_cast<double>(n));
  };
  return make_space({x, {}, uniform(x.rows())}, {z, {}, uniform(z.rows())}, span_of(options));
}

TEST(Space, TheSpanIsFoundAndKeepsAllDistances) {
  Matrix x = test::random_matrix(4, 50, 1), z = test::random_matrix(5, 50, 2);
  const Space few = space_of(x, z);
  EXPECT_EQ(few.rank(), 8);  // nine points differ in eight directions
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 5; ++j)
      EXPECT_NEAR((few.x.row(i) - few.z.row(j)).norm() * few.frame.length,
                  (x.row(i) - z.row(j)).norm(), 1e-12);
  EXPECT_EQ(space_of(x, z, {.prior = PriorChoice::w}).rank(), 9);  // W sees where zero is
}

TEST(Space, ConstantColumnsAndDuplicatePointsLowerTheRank) {
  Matrix x = test::random_matrix(40, 6, 3), z = test::random_matrix(30, 6, 4);
  x.col(2).setConstant(3);
  z.col(2).setConstant(3);
  EXPECT_EQ(space_of(x, z).rank(), 5);
  Matrix twice(60, 6);
  for (Index i = 0; i < 60; ++i) twice.row(i) = x.row(i % 3);
  EXPECT_EQ(space_of(twice, twice).rank(), 2);
}

// A pixel that is seldom anything but black is a direction as good as others, and a copy of another
// column is none.
TEST(Space, AColumnThatIsSeldomOtherThanZeroCounts) {
  Matrix x = test::random_matrix(400, 6, 3), z = test::random_matrix(300, 6, 4);
  x.col(2).setZero();
  z.col(2).setZero();
  x(7, 2) = 1e-5;
  const Space space = space_of(x, z);
  EXPECT_EQ(space.rank(), 6);
  EXPECT_NEAR((space.x.row(7) - space.z.row(3)).norm() * space.frame.length,
              (x.row(7) - z.row(3)).norm(), 1e-12);
  x.col(2) = 1e-5 * x.col(4);
  z.col(2) = 1e-5 * z.col(4);
  EXPECT_EQ(space_of(x, z).rank(), 5);
}

// Nearly all columns are independent: all that are not constant are kept, and where that is all
// columns or few of them, the span.
TEST(Space, AFewDependentColumnsAreKept) {
  Matrix x = test::random_matrix(40, 31, 3), z = test::random_matrix(30, 31, 4);
  for (Matrix* points : {&x, &z}) {
    points->col(7) = points->col(3);
    points->col(30).setConstant(2);
  }
  const Space space = space_of(x, z);
  EXPECT_EQ(space.rank(), 30);
  for (Index i = 0; i < 40; ++i)
    EXPECT_NEAR((space.x.row(i) - space.z.row(3)).norm() * space.frame.length,
                (x.row(i) - z.row(3)).norm(), 1e-12);
  for (Index j = 10; j < 20; ++j) x.col(j) = x.col(3), z.col(j) = z.col(3);
  EXPECT_EQ(space_of(x, z).rank(), 19);
  const Matrix few_x = test::random_matrix(40, 30, 3), few_z = test::random_matrix(30, 30, 4);
  Matrix all_x = few_x, all_z = few_z;
  all_x.col(7) = all_x.col(3);
  all_z.col(7) = all_z.col(3);
  EXPECT_EQ(space_of(all_x, all_z).rank(), 29);
}

// A metric that is learned does not notice a direction that no two points differ in.
TEST(Space, ADirectionTooManyChangesNothing) {
  Problem one = test::small_problem(30, 40, 22);
  for (Domain* domain : {&one.source, &one.target}) {
    domain->points.col(20) = domain->points.col(0);
    domain->points.col(21).setConstant(1);
  }
  Options options{.tolerance = 1e-12, .inner = InnerTolerance::tight};
  const Model with = fit(one, options);
  ASSERT_EQ(with.metric.rank(), 21);
  options.prior = Matrix::Identity(22, 22).eval();
  const Model all = fit(one, options);  // in all dimensions
  EXPECT_LE((plan(with) - plan(all)).lpNorm<1>(), 1e-8);
  EXPECT_LE((with.metric.matrix() - all.metric.matrix()).norm(), 1e-8 * all.metric.matrix().norm());
  EXPECT_NEAR(with.history.back().objective, all.history.back().objective,
              1e-8 * std::abs(all.history.back().objective));
}

// The answer in the span equals the one computed in all d dimensions: the same priors, given as
// dense matrices, are never reduced.
TEST(Space, TheSubspaceRuleIsExact) {
  Problem problem = test::small_problem(6, 8, 30);
  problem.source.points.col(4).setConstant(2);
  problem.target.points.col(4).setConstant(2);
  const Matrix& x = problem.source.points;
  const Matrix& z = problem.target.points;
  Matrix w = x.transpose() * x + z.transpose() * z;
  w += 0.5 * w.trace() / 30 * Matrix::Identity(30, 30);
  const auto dense = [&](PriorChoice choice) -> Matrix {
    if (choice == PriorChoice::identity) return Matrix::Identity(30, 30);
    return choice == PriorChoice::w ? w : spd::inverse(w);
  };
  for (const PriorChoice choice : {PriorChoice::identity, PriorChoice::w, PriorChoice::w_inverse}) {
    Options options{
        .prior = choice, .prior_ridge = 0.5, .tolerance = 1e-12, .inner = InnerTolerance::tight};
    const Model reduced = fit(problem, options);
    options.prior = dense(choice);
    const Model full = fit(problem, options);
    EXPECT_LT(reduced.metric.rank(), 15);
    EXPECT_EQ(full.metric.rank(), 30);
    EXPECT_NEAR(reduced.lambda, full.lambda, 1e-10 * full.lambda);
    EXPECT_LE((plan(reduced) - plan(full)).lpNorm<1>(), 1e-8) << name(choice);
    const Matrix a = full.metric.matrix();
    EXPECT_LE((reduced.metric.matrix() - a).norm(), 1e-8 * a.norm()) << name(choice);
    EXPECT_NEAR(reduced.history.back().objective, full.history.back().objective,
                1e-8 * std::abs(full.history.back().objective));
    EXPECT_NEAR(reduced.history.back().condition, full.history.back().condition,
                1e-6 * full.history.back().condition);
    EXPECT_NEAR(reduced.history.back().riccati_residual, 0, 1e-10);
  }
  for (const MetricChoice choice : {MetricChoice::w, MetricChoice::w_inverse}) {
    const Model reduced = fit(problem, {.metric = choice, .prior_ridge = 0.5, .tolerance = 1e-12});
    const Matrix same = dense(choice == MetricChoice::w ? PriorChoice::w : PriorChoice::w_inverse);
    const Model full = fit(problem, {.metric = same, .tolerance = 1e-12});
    EXPECT_LE((plan(reduced) - plan(full)).lpNorm<1>(), 1e-8) << name(choice);
  }
}

TEST(Space, ScalingTheDataKeepsThePlan) {
  const Problem problem = test::small_problem();
  for (const PriorChoice prior : {PriorChoice::identity, PriorChoice::w, PriorChoice::w_inverse}) {
    const Model base = fit(problem, {.prior = prior});
    for (const double scale : {1e-100, 1e-3, 7.0, 1e100}) {
      Problem scaled = problem;
      scaled.source.points *= scale;
      scaled.target.points *= scale;
      const Model model = fit(scaled, {.prior = prior});
      EXPECT_TRUE(model.status.converged()) << scale;
      EXPECT_LE((plan(model) - plan(base)).lpNorm<1>(), 1e-8) << name(prior) << " " << scale;
      const Matrix distances_base = distances(base, problem.source.points, problem.target.points);
      const Matrix found = distances(model, scaled.source.points, scaled.target.points);
      // A scales like 1/scale for D = I, 1 for W and 1/scale^2 for its inverse.
      const double expected = prior == PriorChoice::identity ? std::sqrt(scale)
                              : prior == PriorChoice::w      ? scale
                                                             : 1;
      EXPECT_LE((found / expected - distances_base).norm(), 1e-7 * distances_base.norm());
    }
  }
}

TEST(Space, MovingBothDomainsTogetherKeepsThePlan) {
  const Problem problem = test::small_problem();
  Problem moved = problem;
  moved.source.points.array() += 1e6;
  moved.target.points.array() += 1e6;
  const Model a = fit(problem, {.metric = MetricChoice::learned});
  const Model b = fit(moved, {.metric = MetricChoice::learned});
  EXPECT_LE((plan(a) - plan(b)).lpNorm<1>(), 1e-6);
}

// An identifier or a time stamp among the features: constant, and far larger than all else.
TEST(Space, ALargeConstantColumnChangesNothing) {
  const Problem problem = test::small_problem();
  for (const MetricChoice choice : {MetricChoice::learned, MetricChoice::identity}) {
    const Model base = fit(problem, {.metric = choice, .tolerance = 1e-10});
    for (const double value : {1e6, 1e15, 1.7e18}) {
      Problem wider = problem;
      wider.source.points.conservativeResize(Eigen::NoChange, 6);
      wider.target.points.conservativeResize(Eigen::NoChange, 6);
      wider.source.points.col(5).setConstant(value);
      wider.target.points.col(5).setConstant(value);
      // The ridge is relative to trace(C0)/d, and d has grown by one.
      const Model model = fit(wider, {.metric = choice, .ridge = 0.1 * 6 / 5, .tolerance = 1e-10});
      EXPECT_LE((plan(model) - plan(base)).lpNorm<1>(), 1e-6) << name(choice) << " " << value;
    }
  }
}

// W sees the offset; displacements must survive beside it.
TEST(Space, WKeepsDisplacementsFarFromZero) {
  Problem problem = test::small_problem();
  problem.source.points.col(0).setConstant(5e13);
  problem.target.points.col(0).setConstant(5e13);
  for (const PriorChoice prior : {PriorChoice::w, PriorChoice::w_inverse}) {
    const Model model = fit(problem, {.prior = prior});
    EXPECT_EQ(model.metric.rank(), 5) << name(prior);
    EXPECT_GT(model.history.back().transport_cost, 0);
    const Matrix g = plan(model);
    EXPECT_GT((g.array() - 1.0 / 1200).abs().sum(), 0.1) << "the plan is uniform";
  }
}

}  // namespace
}  // namespace remblai
