// Kernel ridge regression: the systems it solves, points left out, and landmarks.
#include "fit/kernel_ridge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fit/class_test_tools.h"
#include "remblai/spd.h"

namespace remblai {
namespace {

using test::difference;
using test::plain_kernel;
using test::random_matrix;

Vector weights_of(Index n, unsigned seed) {
  return static_cast<double>(n) * test::random_weights(n, seed);
}

KernelFit fit_of(const Matrix& points, Index landmarks, double width, const Matrix& targets,
                 const Vector& weights, double smoothing, Index judged) {
  KernelRidge ridge(points, landmarks);
  ridge.set_width(width);
  return ridge.fit(targets, weights, smoothing, judged);
}

Matrix without_row(const Matrix& a, Index row) {
  std::vector<Index> rest;
  for (Index i = 0; i < a.rows(); ++i)
    if (i != row) rest.push_back(i);
  return a(rest, Eigen::all);
}

// (K + diag(smoothing/w))^-1 T.
Matrix plain_coefficients(const Matrix& points, double width, const Matrix& targets,
                          const Vector& weights, double smoothing) {
  Matrix system = plain_kernel(points, points, width);
  system.diagonal() += smoothing * weights.cwiseInverse();
  return spd::inverse(system) * targets;
}

TEST(KernelRidge, CoefficientsSolveTheSystem) {
  for (const Index n : {1, 2, 30, 90}) {
    const Matrix points = random_matrix(n, 4, 1), targets = random_matrix(n, 3, 2);
    const Vector weights = weights_of(n, 3);
    for (const double width : {0.1, 3.0, 300.0})
      for (const double smoothing : {1e-3, 0.1, 10.0}) {
        const Matrix a = fit_of(points, 3000, width, targets, weights, smoothing, 0).coefficients;
        Matrix system = plain_kernel(points, points, width);
        system.diagonal() += smoothing * weights.cwiseInverse();
        EXPECT_LT(difference(system * a, targets), 1e-9) << n << " " << width << " " << smoothing;
      }
  }
}

TEST(KernelRidge, WhatIsLeftOutIsTheFitWithoutThatPoint) {
  const Index n = 25;
  const Matrix points = random_matrix(n, 3, 4), targets = random_matrix(n, 2, 5);
  const Vector weights = weights_of(n, 6);
  for (const Index judged : {Index{1}, Index{7}, n}) {
    const KernelFit fit = fit_of(points, 3000, 2, targets, weights, 0.1, judged);
    ASSERT_EQ(fit.left_out.rows(), judged);
    for (Index i = n - judged; i < n; ++i) {
      const Matrix rest = without_row(points, i);
      const Matrix a =
          plain_coefficients(rest, 2, without_row(targets, i), without_row(weights, i), 0.1);
      const Matrix value = plain_kernel(points.row(i), rest, 2) * a;
      EXPECT_LT(difference(fit.left_out.row(i - n + judged), value), 1e-10) << judged << " " << i;
    }
  }
}

// The regression on landmarks, with the point's weight set to zero; the landmarks stay.
TEST(KernelRidge, WhatLandmarksLeaveOutIsTheFitWithoutThatPoint) {
  const Index n = 40, count = 12;
  const Matrix points = random_matrix(n, 2, 7), targets = random_matrix(n, 2, 8);
  const Vector weights = weights_of(n, 9);
  KernelRidge ridge(points, count);
  ridge.set_width(1.5);
  const KernelFit fit = ridge.fit(targets, weights, 0.1, n);
  const Matrix k = plain_kernel(points, ridge.support(), 1.5);
  const Matrix own = plain_kernel(ridge.support(), ridge.support(), 1.5);
  const auto refit = [&](const Vector& w) {
    const Matrix normal = k.transpose() * w.asDiagonal() * k + 0.1 * own;
    return Matrix(spd::inverse((normal + normal.transpose()) / 2) * k.transpose() * w.asDiagonal() *
                  targets);
  };
  EXPECT_LT(difference(k * fit.coefficients, k * refit(weights)), 1e-6);
  for (Index i = 0; i < n; ++i) {
    Vector without = weights;
    without[i] = 0;
    EXPECT_LT(difference(fit.left_out.row(i), k.row(i) * refit(without)), 1e-6) << i;
  }
}

// More points than are taken at a time, and not all of them judged.
TEST(KernelRidge, LandmarksOfManyPointsComeInBlocks) {
  const Index n = 5000, judged = 4100;
  const Matrix points = random_matrix(n, 2, 20), targets = random_matrix(n, 2, 21);
  const Vector weights = weights_of(n, 22);
  KernelRidge ridge(points, 15);
  ridge.set_width(2);
  const KernelFit fit = ridge.fit(targets, weights, 0.1, judged);
  const Matrix k = plain_kernel(points, ridge.support(), 2);
  const Matrix own = plain_kernel(ridge.support(), ridge.support(), 2);
  const Matrix normal = k.transpose() * weights.asDiagonal() * k + 0.1 * own;
  const Matrix inverse = spd::inverse((normal + normal.transpose()) / 2);
  const Matrix coefficients = inverse * k.transpose() * weights.asDiagonal() * targets;
  EXPECT_LT(difference(k * fit.coefficients, k * coefficients), 1e-6);
  for (const Index i : {n - judged, n - 2049, n - 2048, n - 3, n - 1}) {
    const double leverage = weights[i] * (k.row(i) * inverse).dot(k.row(i));
    const Matrix value =
        targets.row(i) - (targets.row(i) - k.row(i) * coefficients) / (1 - leverage);
    EXPECT_LT(difference(fit.left_out.row(i - n + judged), value), 1e-6) << i;
  }
}

// A wide kernel on a line has a rank far below the number of points.
TEST(KernelRidge, LandmarksThatMissNothingGiveTheExactFit) {
  const Index n = 60;
  const Matrix points = random_matrix(n, 1, 10), targets = random_matrix(n, 2, 11);
  const Matrix elsewhere = random_matrix(20, 1, 12);
  const Vector weights = weights_of(n, 13);
  const KernelFit exact = fit_of(points, n, 30, targets, weights, 0.1, n);
  EXPECT_EQ(exact.missed, 0);
  KernelRidge ridge(points, 40);
  ridge.set_width(30);
  const KernelFit fit = ridge.fit(targets, weights, 0.1, n);
  EXPECT_EQ(ridge.support().rows(), 40);
  EXPECT_LT(fit.missed, 1e-8);
  EXPECT_LT(difference(plain_kernel(elsewhere, ridge.support(), 30) * fit.coefficients,
                       plain_kernel(elsewhere, points, 30) * exact.coefficients),
            1e-5);
  EXPECT_LT(difference(fit.left_out, exact.left_out), 1e-5);
}

TEST(KernelRidge, MoreLandmarksComeCloserToTheExactFit) {
  const Index n = 120;
  const Matrix points = random_matrix(n, 3, 14), elsewhere = random_matrix(50, 3, 15);
  const Matrix targets = points.array().sin();
  const Vector weights = weights_of(n, 16);
  const Matrix exact = plain_kernel(elsewhere, points, 6) *
                       fit_of(points, n, 6, targets, weights, 0.1, 0).coefficients;
  double error = 0, missed = 0, first_error = 0;
  for (const Index count : {10, 20, 40, 80, 119}) {
    KernelRidge ridge(points, count);
    ridge.set_width(6);
    const KernelFit fit = ridge.fit(targets, weights, 0.1, n);
    const double found =
        (plain_kernel(elsewhere, ridge.support(), 6) * fit.coefficients - exact).norm();
    if (count == 10) {
      first_error = found;
    } else {
      EXPECT_LT(fit.missed, missed) << count;
      EXPECT_LT(found, 1.1 * error) << count;
    }
    // What the landmarks explain of the diagonal of the kernel.
    const Matrix k = plain_kernel(points, ridge.support(), 6);
    Matrix own = plain_kernel(ridge.support(), ridge.support(), 6);
    own.diagonal().array() += 1e-10;
    const double explained = (k * spd::inverse(own) * k.transpose()).diagonal().mean();
    EXPECT_NEAR(fit.missed, 1 - explained, 1e-6) << count;
    error = found;
    missed = fit.missed;
  }
  EXPECT_LT(error, 0.02 * first_error);
}

TEST(KernelRidge, HalfOfTheLastWidthIsThatWidth) {
  const Matrix points = random_matrix(50, 3, 17), targets = random_matrix(50, 2, 18);
  const Vector weights = weights_of(50, 19);
  for (const Index landmarks : {50, 20}) {
    KernelRidge halved(points, landmarks);
    for (const double width : {8.0, 4.0, 2.0, 1.0, 3.0, 1.5, 0.5, 8.0}) {
      halved.set_width(width);
      const KernelFit a = halved.fit(targets, weights, 0.1, 50);
      const KernelFit b = fit_of(points, landmarks, width, targets, weights, 0.1, 50);
      EXPECT_LT(difference(a.left_out, b.left_out), 1e-10) << landmarks << " " << width;
      EXPECT_NEAR(a.missed, b.missed, 1e-12);
    }
  }
}

TEST(KernelRidge, PointsInOnePlaceAndWeightsOfAnySize) {
  Matrix points = random_matrix(40, 2, 20);
  points.bottomRows(30).rowwise() = Eigen::RowVectorXd(points.row(0));
  const Matrix targets = random_matrix(40, 2, 21);
  Vector weights = Vector::Ones(40);
  weights[0] = 1e-90;
  weights[1] = 1e6;
  for (const Index landmarks : {40, 12})
    for (const double width : {1e-3, 1.0, 1e6}) {
      const KernelFit fit = fit_of(points, landmarks, width, targets, weights, 1e-6, 40);
      ASSERT_EQ(fit.coefficients.rows(), landmarks) << width;
      EXPECT_TRUE(fit.coefficients.allFinite() && fit.left_out.allFinite())
          << landmarks << " " << width;
    }
}

TEST(KernelRidge, LandmarksFitTheMemory) {
  const double mebibyte = 0x1p20;
  EXPECT_EQ(landmarks_within(1024 * mebibyte, 3000, 1e6), 3000);
  EXPECT_EQ(landmarks_within(20 * mebibyte, 3000, 800), 3000) << "exact systems fit";
  for (const double bytes : {3 * mebibyte, 50 * mebibyte, 600 * mebibyte}) {
    const int most = landmarks_within(bytes, 3000, 1e6);
    EXPECT_LE(landmark_bytes(most), bytes);
    EXPECT_GT(landmark_bytes(most + 1), bytes);
    EXPECT_EQ(landmarks_within(bytes, 20, 1e6), 20);
  }
  EXPECT_EQ(landmarks_within(1, 3000, 800), 10);
}

TEST(KernelRidge, AnEvenSampleIsAscendingAndGrowsByMorePoints) {
  std::vector<Index> before;
  for (const Index count : {0, 1, 5, 50, 99}) {
    const std::vector<Index> sample = even_sample(100, count);
    ASSERT_EQ(static_cast<Index>(sample.size()), count);
    EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
    EXPECT_EQ(std::set<Index>(sample.begin(), sample.end()).size(), sample.size());
    EXPECT_TRUE(std::includes(sample.begin(), sample.end(), before.begin(), before.end()));
    EXPECT_TRUE(sample.empty() || (sample.front() >= 0 && sample.back() < 100));
    before = sample;
  }
  for (const Index count : {100, 1000}) EXPECT_EQ(even_sample(100, count).size(), 100u);
  // Neither end is left out for long.
  const std::vector<Index> half = even_sample(1000, 500);
  EXPECT_NEAR(static_cast<double>(std::lower_bound(half.begin(), half.end(), 500) - half.begin()),
              250, 50);
}

}  // namespace
}  // namespace remblai
