// The vector kernels against the plain loops they replace, at every length around the vector width.
#include "simd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support.h"

namespace remblai {
namespace {

TEST(Simd, Exp2KeepsItsErrorBound) {
  std::vector<double> x;
  for (double v = -1000; v <= 1000; v += 0.01372) x.push_back(v);
  for (int n = -1000; n <= 1000; ++n) x.push_back(n);  // whole numbers must be exact
  std::vector<double> y(x.size());
  simd::exp2(x.data(), y.data(), static_cast<Index>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double truth = std::exp2(x[i]);
    ASSERT_LE(std::abs(y[i] / truth - 1), 4e-16) << x[i];
    if (x[i] == std::round(x[i])) {
      ASSERT_EQ(y[i], truth) << x[i];
    }
  }
}

TEST(Simd, Exp2AtTheEnds) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> x{-inf, -1e300, -1000.001, -1000, 0, 1000, 1e5, inf};
  std::vector<double> y(x.size());
  simd::exp2(x.data(), y.data(), static_cast<Index>(x.size()));
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], std::exp2(-1000));
  EXPECT_EQ(y[4], 1);
  EXPECT_EQ(y[5], std::exp2(1000));
  EXPECT_EQ(y[6], std::exp2(1000));
  EXPECT_EQ(y[7], std::exp2(1000));
}

TEST(Simd, EveryKernelEqualsThePlainLoopAtEveryLength) {
  for (Index n = 0; n <= 37; ++n) {
    const Matrix k = test::random_matrix(4, n, 1).cwiseAbs();
    const Vector v = test::random_matrix(n, 1, 2).col(0);
    const double s = 1.7, shift = -0.3;
    double largest = -std::numeric_limits<double>::infinity();
    for (Index j = 0; j < n; ++j) largest = std::max(largest, v[j] - s * k(0, j));
    const double found = simd::shifted_max(k.data(), v.data(), s, n);
    if (n == 0) {
      EXPECT_EQ(found, largest);
    } else {
      EXPECT_NEAR(found, largest, 1e-14);
    }

    Vector e(n);
    const double sum = simd::exp2_row(k.data(), v.data(), s, shift, e.data(), n);
    double truth = 0;
    for (Index j = 0; j < n; ++j) {
      EXPECT_NEAR(e[j], std::exp2(v[j] - s * k(0, j) + shift), 1e-14);
      truth += e[j];
    }
    EXPECT_NEAR(sum, truth, 1e-13);

    EXPECT_NEAR(simd::dot(k.data(), v.data(), n), k.row(0).dot(v), 1e-13);
    EXPECT_NEAR(simd::dot_squares(k.data(), v.data(), n), k.row(0).cwiseAbs2().dot(v), 1e-13);
    double out[4];
    simd::dot_rows4(k.data(), n, v.data(), n, out);
    for (Index i = 0; i < 4; ++i) EXPECT_NEAR(out[i], k.row(i).dot(v), 1e-13);

    const double a[4] = {1, -2, 0.5, 3};
    Vector t = v, expected = v;
    simd::add_rows4(k.data(), n, a, t.data(), n);
    for (Index i = 0; i < 4; ++i) expected += a[i] * k.row(i).transpose();
    EXPECT_LE((t - expected).lpNorm<1>(), 1e-12);
    t = v;
    simd::add_row(k.data(), 2.5, t.data(), n);
    EXPECT_LE((t - v - 2.5 * k.row(0).transpose()).lpNorm<1>(), 1e-12);
  }
}

}  // namespace
}  // namespace remblai
