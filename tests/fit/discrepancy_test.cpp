// The discrepancy of two clouds: its double sums, and what moving a cloud does to it.
#include "fit/discrepancy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"

namespace remblai {
namespace {

using test::random_matrix;

Vector equal(Index n) {
  return Vector::Constant(n, 1 / static_cast<double>(n));
}

// The discrepancies of two clouds that `as_they_are` or after a translation that makes their means
// one.
std::vector<double> discrepancies(const Matrix& x, const Matrix& z, const Vector& p,
                                  const Vector& q, bool as_they_are,
                                  const std::vector<Vector>& weights) {
  const Eigen::RowVectorXd shift = q.transpose() * z - p.transpose() * x;
  const Clouds centred(x.rowwise() + shift, z);
  return Discrepancy(centred, p, q)(as_they_are ? Clouds(x, z) : centred, weights);
}

// Of clouds of equal weights.
double as_they_are(const Matrix& x, const Matrix& z) {
  const Vector p = equal(x.rows());
  return discrepancies(x, z, p, equal(z.rows()), true, {p}).front();
}

double translated(const Matrix& x, const Matrix& z) {
  const Vector p = equal(x.rows());
  return discrepancies(x, z, p, equal(z.rows()), false, {p}).front();
}

double mean_distance(const Matrix& x, const Matrix& z, const Vector& p, const Vector& q) {
  double mean = 0;
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < z.rows(); ++j) mean += p[i] * q[j] * (x.row(i) - z.row(j)).squaredNorm();
  return mean;
}

// sum_{i != i'} w w' k / sum_{i != i'} w w' for both clouds, less twice the mean between them.
double plain(const Matrix& x, const Matrix& z, const Vector& q, const Vector& w, double width) {
  const auto kernel = [&](const auto& a, const auto& b) {
    return std::exp(-(a - b).squaredNorm() / width);
  };
  const auto within = [&](const Matrix& points, const Vector& weights) {
    double sum = 0, total = 0;
    for (Index i = 0; i < points.rows(); ++i)
      for (Index j = 0; j < points.rows(); ++j) {
        if (i == j) continue;
        sum += weights[i] * weights[j] * kernel(points.row(i), points.row(j));
        total += weights[i] * weights[j];
      }
    return sum / total;
  };
  double across = 0;
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < z.rows(); ++j) across += w[i] * q[j] * kernel(x.row(i), z.row(j));
  return within(x, w) + within(z, q) - 2 * across;
}

TEST(Discrepancy, IsTheDoubleSums) {
  const Matrix x = random_matrix(12, 3, 1), z = (2 * random_matrix(15, 3, 2)).array() + 0.7;
  const Vector q = test::random_weights(15, 3), p = test::random_weights(12, 4);
  const Matrix moved = x.rowwise() + (q.transpose() * z - p.transpose() * x);
  const double width = 0.8 * mean_distance(moved, z, p, q);
  const std::vector<Vector> weights{p, test::random_weights(12, 5), test::random_weights(12, 6)};
  const std::vector<double> found = discrepancies(x, z, p, q, true, weights);
  const std::vector<double> after = discrepancies(x, z, p, q, false, weights);
  ASSERT_EQ(found.size(), 3u);
  ASSERT_EQ(after.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(found[k], plain(x, z, q, weights[k], width), 1e-12) << k;
    EXPECT_NEAR(after[k], plain(moved, z, q, weights[k], width), 1e-12) << k;
  }
}

TEST(Discrepancy, NeedsNoDistancesAtHand) {
  const Matrix x = random_matrix(30, 3, 1), z = random_matrix(40, 3, 2).array() + 0.7;
  const Vector q = test::random_weights(40, 3), p = test::random_weights(30, 4);
  const std::vector<Vector> weights{p, test::random_weights(30, 5)};
  const auto found = [&](double budget) {
    const Clouds centred(x.rowwise() + (q.transpose() * z - p.transpose() * x), z, {}, budget);
    const Clouds there(x, z, {}, budget);
    std::vector<double> values = Discrepancy(centred, p, q)(there, weights);
    return Vector(Eigen::Map<Vector>(values.data(), 2));
  };
  EXPECT_LT((found(0) - found(1e9)).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Discrepancy, AfterTheTranslationThePlacesDoNotMatter) {
  const Matrix x = random_matrix(12, 3, 7), z = random_matrix(15, 3, 8);
  const double value = translated(x, z);
  for (const double distance : {1.0, 1e3, 1e6})
    EXPECT_NEAR(translated(x.array() + distance, z), value, 1e-9) << distance;
}

// Two clouds that do not touch are as far from each other as they can be.
TEST(Discrepancy, GrowsWithTheDistanceUpToALimit) {
  const Matrix x = random_matrix(100, 2, 11), z = random_matrix(100, 2, 12);
  double before = 0.01;
  for (const double distance : {0.5, 1.0, 2.0, 5.0}) {
    const double value = as_they_are(x.array() + distance, z);
    EXPECT_GT(value, before) << distance;
    before = value;
  }
  EXPECT_NEAR(as_they_are(x.array() + 1e3, z), as_they_are(x.array() + 1e6, z), 1e-9);
}

// Without the diagonals nothing is left on average; with them it would be about 1/m + 1/n = 0.067.
TEST(Discrepancy, OfTwoDrawsOfOneDistributionIsZeroOnAverage) {
  double sum = 0, largest = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const double value =
        as_they_are(random_matrix(30, 3, 2 * seed), random_matrix(30, 3, 2 * seed + 1));
    sum += value;
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_LT(std::abs(sum / 100), 0.004);
  EXPECT_LT(largest, 0.12);
}

TEST(Discrepancy, TheUnitOfThePointsDoesNotMatter) {
  const Matrix x = random_matrix(10, 2, 13), z = random_matrix(10, 2, 14).array() + 1;
  const double value = as_they_are(x, z);
  for (const double unit : {1e-50, 1e50})
    EXPECT_NEAR(as_they_are(unit * x, unit * z), value, 1e-10);
}

TEST(Discrepancy, WeightsSayWhichSourceIsTheNearest) {
  Matrix x = random_matrix(60, 1, 15), z = random_matrix(60, 1, 16);
  x.bottomRows(30).array() += 6;  // half of the source, a tenth of the target
  z.bottomRows(6).array() += 6;
  Vector right(60);
  right << Vector::Constant(30, 0.9 / 30), Vector::Constant(30, 0.1 / 30);
  const std::vector<double> found =
      discrepancies(x, z, equal(60), equal(60), true, {equal(60), right, right.reverse()});
  EXPECT_LT(found[1], 0.05);
  EXPECT_GT(found[0], 4 * std::abs(found[1]));
  EXPECT_GT(found[2], found[0]);
}

// Three classes along a line, of which the last has no source point of any weight. The target has
// the others as seven to three.
TEST(Discrepancy, TheNearestMixtureHasTheClassSharesOfTheTarget) {
  Matrix x = random_matrix(90, 2, 17), z = random_matrix(100, 2, 18);
  ClassProblem problem;
  problem.classes = (Labels(3) << 0, 1, 2).finished();
  problem.p = equal(90);
  problem.p.tail(30).setZero();
  problem.p /= problem.p.sum();
  problem.members = Matrix::Zero(90, 3);
  for (Index i = 0; i < 90; ++i) {
    problem.members(i, i / 30) = 1;
    x(i, 0) += 5 * static_cast<double>(i / 30);
  }
  z.col(0).tail(30).array() += 5;
  const Eigen::RowVectorXd shift = z.colwise().mean() - problem.p.transpose() * x;
  const Clouds clouds(x, z);
  const Discrepancy compare(Clouds(x.rowwise() + shift, z), problem.p, equal(100));
  const Discrepancy::Mixture found =
      compare.nearest_mixture(clouds, compare.classes(clouds, problem));
  EXPECT_NEAR(found.shares.sum(), 1, 1e-9);
  EXPECT_NEAR(found.shares[0], 0.7, 0.05);
  EXPECT_EQ(found.shares[2], 0);

  // No other shares are nearer, by the sums of the mixture as well as by its own account.
  const auto at = [&](double first) {
    Vector w = problem.p;
    w.head(30).setConstant(first / 30);
    w.segment(30, 30).setConstant((1 - first) / 30);
    return compare(clouds, {w}).front();
  };
  EXPECT_NEAR(found.discrepancy, at(found.shares[0]), 0.02);
  for (const double off : {-0.15, 0.15})
    EXPECT_GT(at(found.shares[0] + off), at(found.shares[0]) + 1e-3);
}

TEST(Discrepancy, SinglePointsAndOnePlace) {
  const Matrix one = Matrix::Constant(1, 2, 3), all = Matrix::Constant(5, 2, 3);
  EXPECT_NEAR(as_they_are(one, one), 0, 1e-12);
  EXPECT_NEAR(as_they_are(all, one), 0, 1e-12);
  EXPECT_NEAR(as_they_are(all, all), 0, 1e-12);
  Vector only = Vector::Zero(5);
  only[2] = 1;
  for (const bool there : {false, true})
    EXPECT_TRUE(std::isfinite(
        discrepancies(random_matrix(5, 2, 1), all, equal(5), equal(5), there, {only}).front()));
}

}  // namespace
}  // namespace remblai
