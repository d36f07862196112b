// The vector kernels against the plain loops they replace, at every length around the vector width.
#include "base/simd.h"

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

template <class T>
class SimdLoops : public testing::Test {};
using Types = testing::Types<double, float>;
TYPED_TEST_SUITE(SimdLoops, Types);

TYPED_TEST(SimdLoops, EqualPlainLoopsAtEveryLength) {
  using T = TypeParam;
  using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  const double error = std::is_same_v<T, double> ? 1e-13 : 3e-6;
  const simd::Loops<T>& loops = simd::loops<T>();
  for (Index n = 0; n <= 37; ++n) {
    const Rows entries = test::random_matrix(4, n, 1).cwiseAbs().cast<T>();
    const Matrix k = entries.template cast<double>();
    const Vector v = test::random_matrix(n, 1, 2).col(0).cast<T>().template cast<double>();
    const Column w = v.cast<T>();
    const double s = 1.7, shift = -0.3;
    double largest = -std::numeric_limits<double>::infinity();
    for (Index j = 0; j < n; ++j) largest = std::max(largest, v[j] - s * k(0, j));
    const double found = loops.shifted_max(entries.data(), v.data(), s, n);
    if (n == 0) {
      EXPECT_EQ(found, largest);
    } else {
      EXPECT_NEAR(found, largest, 1e-14);
    }

    Column e(n);
    const double sum = loops.exp2_row(entries.data(), v.data(), s, shift, e.data(), n);
    double truth = 0;
    for (Index j = 0; j < n; ++j) {
      const double power = std::exp2(v[j] - s * k(0, j) + shift);
      EXPECT_NEAR(e[j], power, error * power);
      truth += e[j];
    }
    EXPECT_NEAR(sum, truth, 1e-13);

    EXPECT_NEAR(loops.dot(entries.data(), w.data(), n), k.row(0).dot(v), error);
    double out[4];
    loops.dot_rows4(entries.data(), n, w.data(), n, out);
    for (Index i = 0; i < 4; ++i) EXPECT_NEAR(out[i], k.row(i).dot(v), error);

    const T a[4] = {1, -2, 0.5, 3};
    Column t = w;
    Vector expected = v;
    loops.add_rows4(entries.data(), n, a, t.data(), n);
    for (Index i = 0; i < 4; ++i) expected += static_cast<double>(a[i]) * k.row(i).transpose();
    EXPECT_LE((t.template cast<double>() - expected).template lpNorm<1>(), 10 * error);
    t = w;
    loops.add_row(entries.data(), T(2.5), t.data(), n);
    EXPECT_LE((t.template cast<double>() - v - 2.5 * k.row(0).transpose()).template lpNorm<1>(),
              10 * error);

    t = w;
    loops.add_squares(entries.data(), T(2.5), t.data(), n);
    EXPECT_LE((t.template cast<double>() - v - 2.5 * k.row(0).transpose().cwiseAbs2())
                  .template lpNorm<1>(),
              20 * error);

    Eigen::VectorXf rounded(n);
    const Vector b = v.cwiseAbs();
    loops.round_row(entries.data(), 3e-14, b.data(), rounded.data(), n);
    for (Index j = 0; j < n; ++j) {
      const double product = 3e-14 * k(0, j) * b[j];
      EXPECT_NEAR(static_cast<double>(rounded[j]), product < 1e-15 ? 0 : product, 1e-7 * product);
    }
  }
}

TEST(Simd, FloatPowersOfExponentsInDouble) {
  // Exponents of many digits that nearly cancel, as at small lambda.
  Index n = 20001;
  Eigen::VectorXf c(n), k(n);
  Vector v(n);
  for (Index j = 0; j < n; ++j) {
    c[j] = static_cast<float>(j % 97) + 0.37f;
    v[j] = 1e4 * static_cast<double>(c[j]) - 130 + 260.0 * static_cast<double>(j) / 20000;
  }
  const double sum = simd::loops<float>().exp2_row(c.data(), v.data(), 1e4, 0, k.data(), n);
  double total = 0;
  for (Index j = 0; j < n; ++j) {
    const double x = v[j] - 1e4 * static_cast<double>(c[j]);
    const double truth = x < -80 ? 0 : std::exp2(std::min(x, 125.0));
    if (std::abs(x + 80) < 1e-4) continue;
    EXPECT_LE(std::abs(static_cast<double>(k[j]) - truth), 2e-7 * truth) << x;
    total += static_cast<double>(k[j]);
  }
  EXPECT_NEAR(sum, total, 1e-6 * total);
}

// Ones and a small number: a running sum in float would stop growing.
TEST(Simd, LongSumsOfFloatsKeepTheirDigits) {
  const Index n = 1 << 22;
  const Eigen::VectorXf ones = Eigen::VectorXf::Ones(n),
                        values = Eigen::VectorXf::Constant(n, 0.1f);
  const double truth = static_cast<double>(n) * static_cast<double>(0.1f);
  EXPECT_NEAR(simd::loops<float>().dot(ones.data(), values.data(), n), truth, 1e-6 * truth);
}

}  // namespace
}  // namespace remblai
