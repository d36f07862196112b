// Preprocessing that treats each domain by itself, and histograms.
#include "remblai/preprocess.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"
#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

using test::difference;
using test::random_matrix;

struct Clouds {
  Matrix x, z;
};

Clouds clouds(double scale = 1) {
  Clouds out{scale * random_matrix(20, 4, 1), 3 * scale * random_matrix(30, 4, 2)};
  out.x.col(1).array() += 5 * scale;
  out.z.col(2).array() -= 7 * scale;
  out.z.col(3).setConstant(0.1 * scale);
  return out;
}

Scaler scaler_of(Preprocess kind, const Clouds& c) {
  return fit_scaler(kind, {c.x, {}, {}}, {c.z, {}, {}});
}

TEST(PreprocessRoles, WhatIsAppliedIsUndone) {
  for (const double scale : {1.0, 1e100, 1e-100})
    for (const Preprocess kind : {Preprocess::centre, Preprocess::standardise}) {
      const Clouds c = clouds(scale);
      const Scaler scaler = scaler_of(kind, c);
      for (const Role role : {Role::source, Role::target}) {
        const Matrix& own = role == Role::source ? c.x : c.z;
        for (const Matrix& points : {own, Matrix(scale * random_matrix(5, 4, 3))}) {
          const Matrix back = scaler.undo(scaler.apply(points, role), role);
          EXPECT_LT(difference(back / scale, points / scale), 1e-12) << name(kind) << " " << scale;
        }
        const Matrix inside = scaler.apply(own, role);
        const auto size = static_cast<double>(own.rows());
        for (Index j = 0; j < 4; ++j) {
          EXPECT_NEAR(inside.col(j).mean() / inside.norm(), 0, 1e-12) << name(kind) << " " << j;
          if (kind != Preprocess::standardise || own.col(j).isConstant(own(0, j))) continue;
          EXPECT_NEAR(inside.col(j).squaredNorm() / size, 1, 1e-12) << scale << " " << j;
        }
        if (kind != Preprocess::centre) continue;
        const Matrix before = (own.row(1) - own.row(0)) / scale;
        EXPECT_LT(difference((inside.row(1) - inside.row(0)) / scale, before), 1e-12);
      }
    }
}

TEST(PreprocessRoles, TheRolesDiffer) {
  const Clouds c = clouds();
  for (const Preprocess kind : {Preprocess::centre, Preprocess::standardise}) {
    const Scaler scaler = scaler_of(kind, c);
    EXPECT_GT(difference(scaler.apply(c.x, Role::source), scaler.apply(c.x, Role::target)), 1);
    EXPECT_EQ(scaler.apply(c.z), scaler.apply(c.z, Role::target));
    EXPECT_THROW(scaler.apply(Matrix::Ones(2, 3), Role::source), Error);
    EXPECT_THROW(scaler.undo(Matrix::Ones(2, 5), Role::source), Error);
  }
  for (const Preprocess kind : {Preprocess::none, Preprocess::l2, Preprocess::zscore}) {
    const Scaler scaler = scaler_of(kind, c);
    EXPECT_EQ(scaler.apply(c.x, Role::source), scaler.apply(c.x, Role::target)) << name(kind);
  }
}

TEST(PreprocessRoles, PointsOfWeightZeroDoNotCount) {
  const Clouds c = clouds();
  Domain source{c.x, {}, Vector::Ones(20)};
  source.weights[3] = 0;
  source.points.row(3).setConstant(1e6);
  const Scaler scaler = fit_scaler(Preprocess::standardise, source, {c.z, {}, {}});
  EXPECT_LT(scaler.scale.maxCoeff(), 10);
}

TEST(PreprocessRoles, HellingerGivesRootsOfSharesAndBackTheShares) {
  Matrix x = random_matrix(6, 5, 4).cwiseAbs();
  x.row(1) *= 1e300;
  x.row(2) *= 1e-300;
  x.row(3).setZero();
  x(4, 2) = 0;
  const Scaler scaler = scaler_of(Preprocess::hellinger, {x, x});
  for (const Role role : {Role::source, Role::target}) {
    const Matrix inside = scaler.apply(x, role), back = scaler.undo(inside, role);
    for (const Index i : {0, 1, 2, 4, 5}) {
      EXPECT_NEAR(inside.row(i).norm(), 1, 1e-14) << i;
      const Eigen::RowVectorXd shares = x.row(i) / x.row(i).maxCoeff();
      EXPECT_LT(difference(back.row(i), shares / shares.sum()), 1e-14) << i;
    }
    EXPECT_EQ(inside.row(3), Matrix::Zero(1, 5));
    EXPECT_EQ(back.row(3), Matrix::Zero(1, 5));
    EXPECT_LT(difference(scaler.apply(back, role), inside), 1e-14);
  }
  x(5, 4) = -1e-300;
  EXPECT_TRUE(test::contains(test::message_of([&] { scaler.apply(x); }), "row 6, column 5"));
}

// Each domain in units and around a place of its own: a fit that standardises does not see them.
TEST(PreprocessRoles, AFitIsBlindToWhatEachDomainIsRidOf) {
  for (const Method method : {Method::paper, Method::class_aware})
    for (const Preprocess kind : {Preprocess::centre, Preprocess::standardise}) {
      SCOPED_TRACE(testing::Message() << name(method) << " " << name(kind));
      const Problem problem = test::class_problem(3, 30, 36, 4, 1, 3);
      Problem other = problem;
      const Eigen::RowVectorXd place{{100, -3, 0, 50}};
      const double unit = kind == Preprocess::standardise ? 32 : 1;
      other.target.points = (unit * problem.target.points).rowwise() + place;
      const Options options{.method = method, .tolerance = 1e-9, .preprocess = kind};
      const Model a = fit(problem, options), b = fit(other, options);
      EXPECT_LT(difference(plan(a), plan(b)), 1e-6);
      EXPECT_EQ(predict(a, problem.target.points), predict(b, other.target.points));
      // The map ends in the units of the target, the way back in those of the source.
      const Matrix mapped = (unit * map(a)).rowwise() + place;
      EXPECT_LT(difference(mapped, map(b)), 1e-4);
      EXPECT_LT(difference(map(b, problem.source.points), map(b)), 1e-4);
      EXPECT_LT(difference(map_back(a), map_back(b)), 1e-4);
      EXPECT_LT(difference(map_back(b, other.target.points), map_back(b)), 1e-4);
      EXPECT_LT(difference(distances(a, problem.source.points, problem.target.points),
                           distances(b, problem.source.points, other.target.points)),
                1e-5);
      const Matrix g = plan(b);
      const Vector rows = g.rowwise().sum();
      EXPECT_LT(difference(rows.cwiseInverse().asDiagonal() * g * other.target.points, map(b)),
                1e-6);
    }
}

}  // namespace
}  // namespace remblai
