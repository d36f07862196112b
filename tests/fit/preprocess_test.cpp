// Standard scores and unit lengths: what they promise, at every scale, and what they leave alone.
#include "remblai/preprocess.h"

#include <gtest/gtest.h>

#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "support.h"

namespace remblai {
namespace {

using test::difference;
using test::random_matrix;
using test::small_problem;

Options with(Preprocess kind) {
  Options options;
  options.preprocess = kind;
  options.steps = 4;
  return options;
}

TEST(Preprocess, none_changes_nothing) {
  const Matrix x = random_matrix(5, 3, 1), z = random_matrix(6, 3, 2);
  const Scaler scaler = fit_scaler(Preprocess::none, {x, {}, {}}, {z, {}, {}});
  EXPECT_EQ(scaler.apply(x), x);
  EXPECT_EQ(scaler.undo(x), x);
}

TEST(Preprocess, zscore_gives_mean_zero_and_deviation_one_over_both_domains) {
  for (const double scale : {1.0, 1e100, 1e-100, 1e-5}) {
    Matrix x = scale * random_matrix(40, 3, 1), z = 2 * scale * random_matrix(25, 3, 2);
    x.col(1).array() += 5 * scale;
    z.col(2) *= 1e-3;
    const Scaler scaler = fit_scaler(Preprocess::zscore, {x, {}, {}}, {z, {}, {}});
    Matrix both(65, 3);
    both << scaler.apply(x), scaler.apply(z);
    ASSERT_TRUE(both.allFinite()) << scale;
    for (Index j = 0; j < 3; ++j) {
      EXPECT_NEAR(both.col(j).mean(), 0, 1e-12) << scale;
      EXPECT_NEAR(both.col(j).squaredNorm() / 65, 1, 1e-12) << scale;
    }
    EXPECT_LT(difference(scaler.undo(scaler.apply(x)) / scale, x / scale), 1e-13);
  }
}

TEST(Preprocess, zscore_leaves_constant_columns_at_their_size) {
  Matrix x = random_matrix(7, 4, 1), z = random_matrix(9, 4, 2);
  const double constants[] = {0.1, 0, -1e100};
  for (Index j = 0; j < 3; ++j) {
    x.col(j).setConstant(constants[j]);
    z.col(j).setConstant(constants[j]);
  }
  const Scaler scaler = fit_scaler(Preprocess::zscore, {x, {}, {}}, {z, {}, {}});
  EXPECT_EQ(scaler.scale.head(3), Vector::Ones(3));
  EXPECT_NE(scaler.scale(3), 1);
  EXPECT_LT(scaler.apply(x).leftCols(2).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(Preprocess, zscore_knows_a_constant_column_among_many_points) {
  for (const double value : {0.1, 1.0 / 3, 123.456, -7e-9}) {
    const Matrix x = Matrix::Constant(20011, 1, value), z = Matrix::Constant(30029, 1, value);
    EXPECT_EQ(fit_scaler(Preprocess::zscore, {x, {}, {}}, {z, {}, {}}).scale(0), 1) << value;
  }
}

TEST(Preprocess, l2_gives_unit_rows_and_keeps_zero_rows) {
  Matrix x = random_matrix(6, 3, 1);
  x.row(1) *= 1e200;
  x.row(2) *= 1e-200;
  x.row(3).setZero();
  const Scaler scaler = fit_scaler(Preprocess::l2, {x, {}, {}}, {x, {}, {}});
  const Matrix unit = scaler.apply(x);
  for (const Index i : {0, 1, 2, 4, 5}) {
    EXPECT_NEAR(unit.row(i).norm(), 1, 1e-14) << i;
    EXPECT_NEAR(unit.row(i).dot(x.row(i) / x.row(i).stableNorm()), 1, 1e-14) << i;
  }
  EXPECT_EQ(unit.row(3), Matrix::Zero(1, 3));
  EXPECT_EQ(scaler.undo(unit), unit);
}

TEST(Preprocess, mapped_points_are_in_the_original_units) {
  Problem problem = small_problem();
  const Eigen::RowVectorXd scales{{1e4, 1, 1e-6, 10, 3}};
  for (Matrix* points : {&problem.source.points, &problem.target.points}) {
    *points *= scales.asDiagonal();
    points->rowwise() += 100 * scales;
  }
  const Model model = fit(problem, with(Preprocess::zscore));
  const Matrix mapped = map(model);
  // Barycentres with plan G: rows of G Z / p in the units of Z.
  const Matrix expected =
      model.source.weights.cwiseInverse().asDiagonal() * plan(model) * problem.target.points;
  EXPECT_LT(((mapped - expected).array().rowwise() / scales.array()).abs().maxCoeff(), 1e-11);
  EXPECT_LT(((map(model, problem.source.points) - mapped).array().rowwise() / scales.array())
                .abs()
                .maxCoeff(),
            1e-9);
}

TEST(Preprocess, zscore_makes_the_fit_blind_to_column_scales) {
  const Problem problem = small_problem();
  const Model model = fit(problem, with(Preprocess::zscore));
  Problem scaled = problem;
  const Eigen::RowVectorXd scales{{0x1p300, 1, 0x1p-300, 0x1p10, 1}};
  scaled.source.points *= scales.asDiagonal();
  scaled.target.points *= scales.asDiagonal();
  const Model other = fit(scaled, with(Preprocess::zscore));
  EXPECT_LT(difference(plan(model), plan(other)), 1e-10);
  EXPECT_EQ(predict(model, problem.target.points), predict(other, scaled.target.points));
}

TEST(Preprocess, constant_columns_are_safe_in_a_fit) {
  Problem problem = small_problem();
  problem.source.points.col(3).setConstant(0.1);
  problem.target.points.col(3).setConstant(0.1);
  const Model model = fit(problem, with(Preprocess::zscore));
  const Matrix mapped = map(model);
  ASSERT_TRUE(mapped.allFinite());
  EXPECT_LT((mapped.col(3).array() - 0.1).abs().maxCoeff(), 1e-14);
}

TEST(Preprocess, l2_ignores_the_length_of_new_points) {
  const Problem problem = small_problem();
  const Model model = fit(problem, with(Preprocess::l2));
  const Matrix points = random_matrix(10, 5, 9);
  EXPECT_LT(difference(map(model, points), map(model, 1e5 * points)), 1e-9);
  EXPECT_EQ(predict(model, points), predict(model, 1e5 * points));
  EXPECT_LT(map(model).rowwise().norm().maxCoeff(), 1 + 1e-12);
  EXPECT_LT(difference(map(model), map(model, problem.source.points)), 1e-10);
}

}  // namespace
}  // namespace remblai
