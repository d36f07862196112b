// Moves of the classes: positive-part James-Stein, written out.
#include "fit/moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fit/class_test_tools.h"

namespace remblai {
namespace {

using test::class_problem;
using test::difference;
using test::PlacedProblem;
using test::random_matrix;

MetricLearner metric_of(const Space& space, const ChoiceOrMatrix<MetricChoice>& metric) {
  return {space, Options{.method = Method::class_aware, .metric = metric}.resolved(), Matrix()};
}

// |v|^2 in the coordinates that the noise is measured in.
double squared_length(const MetricLearner& metric, const Eigen::RowVectorXd& v) {
  const Matrix& f = metric.metric().factor;
  return f.size() ? (f * v.transpose()).squaredNorm() : v.squaredNorm();
}

void expect_formula(const PlacedProblem& placed, const MetricLearner& metric, const Matrix& b,
                    const Vector& h, double noise) {
  const ClassProblem& problem = placed.classes;
  const Index k = problem.class_count(), m = b.rows(), r = b.cols();
  const Moves found = class_moves(problem, b, h, Vector::Ones(k), noise, metric);
  Matrix mean = Matrix::Zero(k, r);
  Vector weight = Vector::Zero(k), squares = Vector::Zero(k);
  for (Index i = 0; i < m; ++i) {
    const Index c = problem.places[static_cast<std::size_t>(i)];
    mean.row(c) += problem.p[i] * b.row(i);
    weight[c] += problem.p[i];
    squares[c] += problem.p[i] * problem.p[i];
  }
  Eigen::RowVectorXd common = Eigen::RowVectorXd::Zero(r);
  double variance = 0;
  const double n = 1 / problem.q.squaredNorm();
  for (Index c = 0; c < k; ++c) {
    mean.row(c) /= weight[c];
    common += h[c] * mean.row(c);
    variance += h[c] * h[c] * squares[c] / (weight[c] * weight[c]);
  }
  variance += 1 / n;
  const double t0 = std::max(0.0, 1 - noise * variance / squared_length(metric, common));
  EXPECT_NEAR(found.common_trust, t0, 1e-10);
  for (Index c = 0; c < k; ++c) {
    const Eigen::RowVectorXd rest = mean.row(c) - common;
    const double own = squares[c] / (weight[c] * weight[c]) + 1 / (n * h[c]);
    const double t = std::max(0.0, 1 - noise * own / squared_length(metric, rest));
    EXPECT_NEAR(found.trust[c], t, 1e-10) << c;
    EXPECT_LT(difference(found.by_class.row(c), t0 * common + t * rest), 1e-10) << c;
  }
}

TEST(Moves, AreTheFormulaOfJamesAndStein) {
  for (const bool weighted : {false, true}) {
    Problem problem = class_problem(3, 20, 25, 4);
    if (weighted) {
      problem.source.weights = test::random_weights(20, 1);
      problem.target.weights = test::random_weights(25, 2);
    }
    const PlacedProblem placed(problem);
    for (const ChoiceOrMatrix<MetricChoice>& choice :
         {ChoiceOrMatrix<MetricChoice>(MetricChoice::identity),
          ChoiceOrMatrix<MetricChoice>(test::random_spd(4, 100, 3))}) {
      const MetricLearner metric = metric_of(placed.space, choice);
      for (const double noise : {0.0, 1e-3, 0.1, 1.0, 100.0})
        for (unsigned seed = 0; seed < 4; ++seed) {
          SCOPED_TRACE(testing::Message() << weighted << " " << noise << " " << seed);
          expect_formula(placed, metric, random_matrix(20, 4, seed), test::random_weights(3, seed),
                         noise);
        }
    }
  }
}

TEST(Moves, WithoutDisplacementThereIsNone) {
  const PlacedProblem placed(class_problem(3, 20, 25, 4));
  const MetricLearner metric = metric_of(placed.space, MetricChoice::identity);
  for (const double noise : {0.0, 1e-300, 1.0, 1e300}) {
    const Moves found = class_moves(placed.classes, Matrix::Zero(20, 4), test::random_weights(3, 1),
                                    Vector::Ones(3), noise, metric);
    EXPECT_EQ(found.by_class, Matrix::Zero(3, 4)) << noise;
    EXPECT_TRUE((found.trust.array() >= 0 && found.trust.array() <= 1).all());
  }
}

TEST(Moves, AMoveOfAllClassesIsCommon) {
  const PlacedProblem placed(class_problem(3, 30, 25, 4));
  const MetricLearner metric = metric_of(placed.space, MetricChoice::identity);
  const Eigen::RowVectorXd way{{3, -1, 2, 0}};
  Matrix b = Matrix::Zero(30, 4);
  b.rowwise() += way;
  const Moves found =
      class_moves(placed.classes, b, test::random_weights(3, 2), Vector::Ones(3), 0.01, metric);
  EXPECT_GT(found.common_trust, 0.99);
  EXPECT_LT(found.trust.maxCoeff(), 1e-10);
  for (Index k = 0; k < 3; ++k)
    EXPECT_LT(difference(found.by_class.row(k), found.common_trust * way), 1e-12);
  // Chance alone moves class means by as much.
  const Moves noisy =
      class_moves(placed.classes, b, test::random_weights(3, 2), Vector::Ones(3), 1e4, metric);
  EXPECT_EQ(noisy.by_class, Matrix::Zero(3, 4));
}

TEST(Moves, TrustGrowsWithTheMoveAndStaysBelowOne) {
  const PlacedProblem placed(class_problem(2, 20, 25, 3));
  const MetricLearner metric = metric_of(placed.space, MetricChoice::identity);
  const Matrix b = random_matrix(20, 3, 5);
  Vector before = Vector::Zero(2);
  double common = 0;
  for (const double size : {1e-3, 0.1, 1.0, 10.0, 1e6}) {
    const Moves found =
        class_moves(placed.classes, size * b, Vector{{0.3, 0.7}}, Vector::Ones(2), 0.1, metric);
    EXPECT_TRUE((found.trust.array() >= before.array() && found.trust.array() <= 1).all());
    EXPECT_TRUE(found.common_trust >= common && found.common_trust <= 1);
    before = found.trust;
    common = found.common_trust;
  }
  EXPECT_GT(before.minCoeff(), 0.999);
}

// A class that the target hardly has: its move is not trusted, and no number overflows.
TEST(Moves, AClassWithHardlyAnyShare) {
  const PlacedProblem placed(class_problem(2, 20, 25, 3));
  const MetricLearner metric = metric_of(placed.space, MetricChoice::identity);
  const Moves found = class_moves(placed.classes, random_matrix(20, 3, 6),
                                  Vector{{1 - 1e-12, 1e-12}}, Vector::Ones(2), 1, metric);
  EXPECT_EQ(found.trust[1], 0);
  EXPECT_TRUE(found.by_class.allFinite());
}

// A class that lands on points which nobody takes for it stays where it is, and has no voice in the
// common move.
TEST(Moves, AClassThatIsNotBelievedDoesNotMove) {
  const PlacedProblem placed(class_problem(2, 20, 20, 3));
  const MetricLearner metric = metric_of(placed.space, MetricChoice::identity);
  const Matrix b = random_matrix(20, 3, 6);
  Matrix far = b;
  for (Index i = 0; i < 20; ++i)
    if (placed.classes.places[static_cast<std::size_t>(i)] == 1) far.row(i).array() += 1e6;
  const Vector shares{{0.5, 0.5}};
  const Moves found = class_moves(placed.classes, far, shares, Vector{{1, 0}}, 1e-3, metric);
  EXPECT_EQ(found.trust[1], 0);
  EXPECT_LT(found.by_class.norm(), 10);
  const Moves half = class_moves(placed.classes, b, shares, Vector{{0.5, 0.5}}, 1e-3, metric);
  const Moves full = class_moves(placed.classes, b, shares, Vector::Ones(2), 1e-3, metric);
  EXPECT_EQ(half.by_class, full.by_class);
}

}  // namespace
}  // namespace remblai
