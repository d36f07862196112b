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

double at(const Matrix& x, const Matrix& z, const Vector& q, const Eigen::RowVectorXd& shift,
          const Vector& p, const Vector& weights) {
  return Discrepancy(x, z, q)(shift, p, {weights}).front();
}

// sum_{i != i'} w w' k / sum_{i != i'} w w' for both clouds, less twice the mean between them.
double plain(const Matrix& x, const Matrix& z, const Vector& q, const Vector& p, const Vector& w) {
  double mean = 0;
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < z.rows(); ++j) mean += p[i] * q[j] * (x.row(i) - z.row(j)).squaredNorm();
  const auto kernel = [&](const auto& a, const auto& b) {
    return std::exp(-(a - b).squaredNorm() / (0.8 * mean));
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
  const Matrix x = random_matrix(12, 3, 1), z = 2 * random_matrix(15, 3, 2);
  const Vector q = test::random_weights(15, 3), p = test::random_weights(12, 4);
  const Eigen::RowVectorXd shift{{0.3, -2, 1}};
  const std::vector<Vector> weights{p, test::random_weights(12, 5), test::random_weights(12, 6)};
  const std::vector<double> found = Discrepancy(x, z, q)(shift, p, weights);
  ASSERT_EQ(found.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(found[k], plain(x.rowwise() + shift, z, q, p, weights[k]), 1e-12) << k;
}

TEST(Discrepancy, AShiftIsThatOfThePoints) {
  const Matrix x = random_matrix(12, 3, 7), z = random_matrix(15, 3, 8);
  const Vector q = test::random_weights(15, 9), p = test::random_weights(12, 10);
  const Eigen::RowVectorXd shift{{1, 2, 3}};
  EXPECT_NEAR(at(x, z, q, shift, p, p),
              at(x.rowwise() + shift, z, q, Eigen::RowVectorXd::Zero(3), p, p), 1e-12);
  EXPECT_NEAR(at(x, z, q, shift, p, p),
              at(x, z.rowwise() - shift, q, Eigen::RowVectorXd::Zero(3), p, p), 1e-12);
}

// Far apart the width is that of the gap: each cloud is one point to it, exp(-1/0.8) from the
// other.
TEST(Discrepancy, GrowsWithTheDistanceUpToALimit) {
  const Matrix x = random_matrix(100, 2, 11), z = random_matrix(100, 2, 12);
  double before = 0.01;
  for (const double distance : {1.0, 2.0, 5.0, 20.0}) {
    const double value =
        at(x, z, equal(100), Eigen::RowVectorXd{{distance, 0}}, equal(100), equal(100));
    EXPECT_GT(value, before) << distance;
    before = value;
  }
  const double limit = 2 - 2 * std::exp(-1 / 0.8);
  for (const double distance : {1e4, 1e6})
    EXPECT_NEAR(at(x, z, equal(100), Eigen::RowVectorXd{{distance, 0}}, equal(100), equal(100)),
                limit, 1e-6);
}

// Without the diagonals nothing is left on average; with them it would be about 1/m + 1/n = 0.067.
TEST(Discrepancy, OfTwoDrawsOfOneDistributionIsZeroOnAverage) {
  double sum = 0, largest = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const double value = at(random_matrix(30, 3, 2 * seed), random_matrix(30, 3, 2 * seed + 1),
                            equal(30), Eigen::RowVectorXd::Zero(3), equal(30), equal(30));
    sum += value;
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_LT(std::abs(sum / 100), 0.004);
  EXPECT_LT(largest, 0.12);
}

TEST(Discrepancy, TheUnitOfThePointsDoesNotMatter) {
  const Matrix x = random_matrix(10, 2, 13), z = random_matrix(10, 2, 14);
  const Eigen::RowVectorXd shift{{1, 0}};
  const double value = at(x, z, equal(10), shift, equal(10), equal(10));
  for (const double unit : {1e-50, 1e50})
    EXPECT_NEAR(at(unit * x, unit * z, equal(10), unit * shift, equal(10), equal(10)), value,
                1e-10);
}

TEST(Discrepancy, WeightsSayWhichSourceIsTheNearest) {
  Matrix x = random_matrix(60, 1, 15), z = random_matrix(60, 1, 16);
  x.bottomRows(30).array() += 6;  // half of the source, a tenth of the target
  z.bottomRows(6).array() += 6;
  Vector right(60);
  right << Vector::Constant(30, 0.9 / 30), Vector::Constant(30, 0.1 / 30);
  const std::vector<double> found = Discrepancy(x, z, equal(60))(
      Eigen::RowVectorXd::Zero(1), equal(60), {equal(60), right, right.reverse()});
  EXPECT_LT(found[1], 0.05);
  EXPECT_GT(found[0], 4 * std::abs(found[1]));
  EXPECT_GT(found[2], found[0]);
}

TEST(Discrepancy, SinglePointsAndOnePlace) {
  const Matrix one = Matrix::Constant(1, 2, 3), all = Matrix::Constant(5, 2, 3);
  const Eigen::RowVectorXd none = Eigen::RowVectorXd::Zero(2);
  EXPECT_NEAR(at(one, one, equal(1), none, equal(1), equal(1)), 0, 1e-12);
  EXPECT_NEAR(at(all, one, equal(1), none, equal(5), equal(5)), 0, 1e-12);
  EXPECT_NEAR(at(all, all, equal(5), none, equal(5), equal(5)), 0, 1e-12);
  Vector only = Vector::Zero(5);
  only[2] = 1;
  EXPECT_TRUE(std::isfinite(at(random_matrix(5, 2, 1), all, equal(5), none, equal(5), only)));
}

}  // namespace
}  // namespace remblai
