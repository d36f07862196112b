// Barycentric maps against the plan they come from, in-sample, out of sample and far away.
#include "remblai/map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "remblai/fit.h"
#include "support.h"

namespace remblai {
namespace {

using test::contains;
using test::difference;
using test::message_of;
using test::random_matrix;
using test::small_problem;

Options precise(double lambda = 0.05, MetricChoice metric = MetricChoice::learned) {
  Options options;
  options.metric = metric;
  options.lambda = lambda;
  options.steps = 5;
  options.tolerance = 1e-11;
  return options;
}

Problem weighted_problem() {
  Problem problem = small_problem();
  problem.source.weights = test::random_weights(30, 5);
  problem.target.weights = test::random_weights(40, 6);
  return problem;
}

Matrix barycentres_of(const Matrix& plan, const Matrix& points) {
  return plan.rowwise().sum().cwiseInverse().asDiagonal() * plan * points;
}

void expect_inside_box(const Matrix& mapped, const Matrix& points) {
  ASSERT_TRUE(mapped.allFinite());
  const double slack = 1e-9 * points.cwiseAbs().maxCoeff();
  for (Index j = 0; j < points.cols(); ++j) {
    EXPECT_GE(mapped.col(j).minCoeff(), points.col(j).minCoeff() - slack) << "column " << j;
    EXPECT_LE(mapped.col(j).maxCoeff(), points.col(j).maxCoeff() + slack) << "column " << j;
  }
}

TEST(Map, is_the_barycentre_of_the_plan) {
  const Problem problem = weighted_problem();
  for (const MetricChoice metric :
       {MetricChoice::learned, MetricChoice::identity, MetricChoice::w, MetricChoice::w_inverse}) {
    for (const double lambda : {0.0, 0.01, 0.5}) {
      const Model model = fit(problem, precise(lambda, metric));
      const Matrix g = plan(model);
      EXPECT_LT(difference(map(model), barycentres_of(g, problem.target.points)), 1e-10)
          << name(metric) << " " << lambda;
      EXPECT_LT(difference(map_back(model, problem.target.points),
                           barycentres_of(g.transpose(), problem.source.points)),
                1e-8)
          << name(metric) << " " << lambda;
    }
  }
}

TEST(Map, same_formula_in_sample_and_out_of_sample) {
  for (const double lambda : {0.0, 1e-3, 0.05, 1.0}) {
    const Problem problem = weighted_problem();
    const Model model = fit(problem, precise(lambda));
    EXPECT_LT(difference(map(model, problem.source.points), map(model)), 1e-10) << lambda;
  }
}

TEST(Map, new_points_follow_the_entropic_formula) {
  const Problem problem = weighted_problem();
  const Model model = fit(problem, precise());
  const Matrix points = random_matrix(15, 5, 77), a = model.metric.matrix();
  Matrix expected(points.rows(), 5);
  for (Index i = 0; i < points.rows(); ++i) {
    Vector exponents(problem.target.size());
    for (Index j = 0; j < exponents.size(); ++j) {
      const Vector step = (points.row(i) - problem.target.points.row(j)).transpose();
      exponents(j) = (model.g(j) - step.dot(a * step)) / model.lambda;
    }
    const Vector weights = (exponents.array() - exponents.maxCoeff()).exp();
    expected.row(i) = weights.transpose() * problem.target.points / weights.sum();
  }
  EXPECT_LT(difference(map(model, points), expected), 1e-9);
}

TEST(Map, far_points_stay_inside_the_target) {
  const Problem problem = small_problem();
  const Model model = fit(problem, precise());
  for (const double factor : {1e3, 1e6, 1e12, 1e100, 1e200}) {
    const Matrix far = factor * random_matrix(12, 5, 3);
    SCOPED_TRACE(factor);
    expect_inside_box(map(model, far), problem.target.points);
    expect_inside_box(map_back(model, far), problem.source.points);
  }
}

// Far out the term x'A z_j outweighs all others, so the point goes to the extreme z_j of its
// direction.
TEST(Map, far_points_go_to_the_extreme_point_of_their_direction) {
  const Problem problem = small_problem();
  const Model model = fit(problem, precise());
  const Matrix directions = random_matrix(12, 5, 3);
  const Matrix scores = directions * model.metric.matrix() * problem.target.points.transpose();
  Matrix expected(12, 5);
  for (Index i = 0; i < 12; ++i) {
    Index best = 0;
    scores.row(i).maxCoeff(&best);
    expected.row(i) = problem.target.points.row(best);
  }
  for (const double factor : {1e6, 1e9, 1e12})
    EXPECT_LT(difference(map(model, factor * directions), expected), 1e-6) << factor;
}

TEST(Map, exact_transport_moves_new_points_with_the_nearest_source_point) {
  const Problem problem = weighted_problem();
  const Model model = fit(problem, precise(0));
  const Matrix mapped = map(model);
  const Matrix offsets = 1e-3 * random_matrix(30, 5, 8);
  EXPECT_LT(difference(map(model, problem.source.points + offsets), mapped + offsets), 1e-10);
}

// The plan may split twins differently, and the barycentre of each row is its own.
TEST(Map, exact_transport_of_points_that_coincide) {
  Problem problem = small_problem(12, 12);
  for (Index i = 1; i < 4; ++i) problem.source.points.row(i) = problem.source.points.row(0);
  const Model model = fit(problem, precise(0, MetricChoice::identity));
  EXPECT_LT(difference(map(model), barycentres_of(plan(model), problem.target.points)), 1e-12);
}

TEST(Map, exact_transport_with_a_weight_below_working_precision) {
  Problem problem = small_problem(12, 12);
  problem.source.weights = Vector::Ones(12);
  problem.source.weights(5) = 1e-20;
  problem.target.weights = Vector::Ones(12);
  problem.target.weights(2) = 1e-20;
  const Model model = fit(problem, precise(0, MetricChoice::identity));
  EXPECT_TRUE(map(model).allFinite());
  EXPECT_TRUE(map(model, problem.source.points).allFinite());
  EXPECT_TRUE(map_back(model, problem.target.points).allFinite());
}

void expect_zero_weights_do_not_count(const Options& options) {
  const Problem kept = weighted_problem();
  Problem problem = kept;
  // Outliers of weight zero in both domains, first and last.
  for (Domain* domain : {&problem.source, &problem.target}) {
    const Domain& old = domain == &problem.source ? kept.source : kept.target;
    const Index size = old.size();
    domain->points = Matrix::Constant(size + 2, 5, 500);
    domain->points.middleRows(1, size) = old.points;
    domain->labels = Labels::Constant(size + 2, 99);
    domain->labels.segment(1, size) = old.labels;
    domain->weights = Vector::Zero(size + 2);
    domain->weights.segment(1, size) = old.weights;
  }
  const Model with = fit(problem, options), without = fit(kept, options);
  const Matrix points = random_matrix(9, 5, 4);
  EXPECT_LT(difference(map(with).middleRows(1, 30), map(without)), 1e-9);
  EXPECT_LT(difference(map(with, points), map(without, points)), 1e-9);
  EXPECT_LT(difference(map_back(with, points), map_back(without, points)), 1e-9);
  const Matrix g = plan(with);
  EXPECT_LT(difference(g.block(1, 1, 30, 40), plan(without)), 1e-10);
  EXPECT_NEAR(g.sum(), g.block(1, 1, 30, 40).sum(), 1e-15);
  EXPECT_TRUE(map(with).allFinite());
}

TEST(Map, zero_weights_do_not_count) {
  expect_zero_weights_do_not_count(precise());
  expect_zero_weights_do_not_count(precise(0));
  expect_zero_weights_do_not_count(precise(0.05, MetricChoice::w));
}

TEST(Map, zero_weights_do_not_count_in_standard_scores) {
  Options options = precise();
  options.preprocess = Preprocess::zscore;
  expect_zero_weights_do_not_count(options);
}

TEST(Map, identical_domains_stay_where_they_are) {
  Problem problem = small_problem();
  problem.target = problem.source;
  for (const double lambda : {0.0, 1e-4}) {
    for (const MetricChoice metric : {MetricChoice::learned, MetricChoice::identity}) {
      const Model model = fit(problem, precise(lambda, metric));
      EXPECT_LT(difference(map(model), problem.source.points), lambda > 0 ? 1e-3 : 1e-12)
          << name(metric) << " " << lambda;
    }
  }
}

TEST(Map, permuted_sources_give_permuted_rows) {
  const Problem problem = weighted_problem();
  std::vector<Index> order(30);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
  Problem permuted = problem;
  permuted.source.points = problem.source.points(order, Eigen::all).eval();
  permuted.source.weights = problem.source.weights(order).eval();
  for (const double lambda : {0.0, 0.05}) {
    const Matrix mapped = map(fit(problem, precise(lambda)));
    EXPECT_LT(difference(map(fit(permuted, precise(lambda))), mapped(order, Eigen::all)), 1e-8)
        << lambda;
  }
}

TEST(Map, one_point_on_either_side) {
  for (const double lambda : {0.0, 0.05}) {
    const Problem to_one = small_problem(7, 1), from_one = small_problem(1, 7);
    EXPECT_LT(difference(map(fit(to_one, precise(lambda))), to_one.target.points.replicate(7, 1)),
              1e-12);
    EXPECT_LT(
        difference(map(fit(from_one, precise(lambda))), from_one.target.points.colwise().mean()),
        1e-9);
  }
}

TEST(Map, works_at_every_scale) {
  const Problem problem = small_problem();
  const Matrix mapped = map(fit(problem, precise()));
  for (const double scale : {0x1p332, 0x1p-332}) {
    Problem scaled = problem;
    scaled.source.points *= scale;
    scaled.target.points *= scale;
    const Model model = fit(scaled, precise());
    EXPECT_LT(difference(map(model) / scale, mapped), 1e-8) << scale;
    EXPECT_LT(difference(map(model, scaled.source.points) / scale, mapped), 1e-8) << scale;
  }
}

TEST(Map, refuses_points_it_cannot_use) {
  const Model model = fit(small_problem(), precise());
  for (const bool back : {false, true}) {
    const auto complaint = [&](const Matrix& points) {
      return message_of([&] { back ? map_back(model, points) : map(model, points); });
    };
    EXPECT_TRUE(contains(complaint(random_matrix(3, 4, 1)), "4 coordinates, the model has 5"));
    Matrix points = random_matrix(3, 5, 1);
    points(1, 3) = std::nan("");
    EXPECT_TRUE(contains(complaint(points), "row 2, column 4")) << complaint(points);
    EXPECT_EQ(complaint(Matrix(0, 5)), "");
  }
}

}  // namespace
}  // namespace remblai
