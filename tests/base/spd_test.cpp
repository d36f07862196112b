// SPD geometry against its defining equations and invariances, SciPy, and hostile input.
// Matrices have a prescribed condition number: random vectors, eigenvalues evenly spaced in log.
#include "remblai/spd.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "base/linalg.h"
#include "remblai/error.h"
#include "remblai/io.h"

namespace remblai::spd {
namespace {

using linalg::multiply;
using linalg::Op;

Matrix random_matrix(Index order, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(order, order, [&] { return normal(engine); });
}

Matrix with_eigenvalues(const Vector& values, unsigned seed) {
  const Matrix vectors = linalg::svd(random_matrix(values.size(), seed)).u;
  const Matrix a = multiply(vectors * values.asDiagonal(), vectors, Op::none, Op::transpose);
  return 0.5 * (a + a.transpose());
}

Matrix random_spd(Index order, double condition, unsigned seed) {
  Vector values(order);
  for (Index i = 0; i < order; ++i) {
    values(i) = order == 1 ? 0.7 : std::pow(condition, 0.5 - double(i) / double(order - 1));
  }
  return with_eigenvalues(values, seed);
}

Matrix identity(Index order) {
  return Matrix::Identity(order, order);
}

Matrix congruence(const Matrix& m, const Matrix& a) {
  const Matrix product = multiply(multiply(m, a), m, Op::none, Op::transpose);
  return 0.5 * (product + product.transpose());
}

/// |A - B| relative to |B|, safe from overflow.
double gap(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows(), b.rows());
  const double scale = b.cwiseAbs().maxCoeff();
  return ((a - b) / scale).norm() / (b / scale).norm();
}

double spectral_norm(const Matrix& a) {
  return linalg::eigenvalues(a).cwiseAbs().maxCoeff();
}

template <typename Call>
std::string message(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SpdRiccati, SolvesWithModerateCondition) {
  for (const Index order : {1, 2, 5, 50, 200}) {
    const Matrix c = random_spd(order, 1e4, 1);
    const Matrix d = random_spd(order, 1e4, 2);
    const Matrix a = riccati(c, d);
    EXPECT_LT(gap(congruence(a, c), d), 1e-8) << order;
    EXPECT_EQ((a - a.transpose()).cwiseAbs().maxCoeff(), 0.0);
    EXPECT_GT(linalg::eigenvalues(a)(0), 0.0);
  }
}

TEST(SpdRiccati, BackwardErrorUpToCondition1e12) {
  for (const Index order : {1, 2, 5, 50, 200}) {
    for (const auto& [condition_c, condition_d] :
         {std::pair{1e12, 1e12}, {1e12, 10.0}, {10.0, 1e12}, {1e8, 1e8}}) {
      const Matrix c = random_spd(order, condition_c, 3);
      const Matrix d = random_spd(order, condition_d, 4);
      const Matrix a = riccati(c, d);
      const double bound = 1e-13 * double(order) * std::pow(spectral_norm(a), 2) * spectral_norm(c);
      EXPECT_LE((congruence(a, c) - d).norm(), bound) << order << " " << condition_c;
    }
  }
}

TEST(SpdRiccati, IsTheGeodesicFromTheInverse) {
  const Matrix c = random_spd(6, 1e3, 5);
  const Matrix d = random_spd(6, 1e3, 6);
  for (const double t : {0.0, 0.3, 0.5, 1.0, 1.7}) {
    EXPECT_LT(gap(riccati(c, d, t), geodesic(inverse(c), d, t)), 1e-9) << t;
  }
}

TEST(SpdRiccati, SurvivesExtremeScales) {
  const Matrix c = random_spd(5, 1e3, 7);
  const Matrix d = random_spd(5, 1e3, 8);
  const Matrix a = riccati(c, d);
  for (const double scale_c : {1e-100, 1e100}) {
    for (const double scale_d : {1e-100, 1e100}) {
      const double expected = std::sqrt(scale_d / scale_c);
      EXPECT_LT(gap(riccati(scale_c * c, scale_d * d), expected * a), 1e-11);
      EXPECT_LT(gap(geometric_mean(scale_c * c, scale_d * d),
                    std::sqrt(scale_c) * std::sqrt(scale_d) * geometric_mean(c, d)),
                1e-11);
    }
  }
}

TEST(SpdMean, EndPointsOfTheGeodesic) {
  const Matrix a = random_spd(8, 1e5, 9);
  const Matrix b = random_spd(8, 1e5, 10);
  EXPECT_LT(gap(geodesic(a, b, 0.0), a), 1e-12);
  EXPECT_LT(gap(geodesic(a, b, 1.0), b), 1e-9);
  EXPECT_LT(gap(geodesic(a, a, 0.37), a), 1e-12);
}

TEST(SpdMean, GeodesicHasConstantSpeed) {
  const Matrix a = random_spd(6, 100.0, 11);
  const Matrix b = random_spd(6, 100.0, 12);
  for (const double t : {-0.5, 0.2, 0.5, 0.9, 2.0}) {
    EXPECT_NEAR(distance(a, geodesic(a, b, t)), std::abs(t) * distance(a, b), 1e-8);
  }
}

TEST(SpdMean, OfCommutingMatrices) {
  Vector first(4);
  Vector second(4);
  first << 1e-3, 0.5, 2.0, 40.0;
  second << 7.0, 1e2, 3.0, 1e-2;
  const Matrix a = with_eigenvalues(first, 13);
  const Matrix b = with_eigenvalues(second, 13);
  const Vector middle = (first.array() * second.array()).sqrt();
  EXPECT_LT(gap(geometric_mean(a, b), with_eigenvalues(middle, 13)), 1e-11);
  const Vector part = first.array().pow(0.7) * second.array().pow(0.3);
  EXPECT_LT(gap(geometric_mean(a, b, 0.3), with_eigenvalues(part, 13)), 1e-11);
}

TEST(SpdDistance, KnownValues) {
  EXPECT_NEAR(distance(Matrix::Constant(1, 1, 2.0), Matrix::Constant(1, 1, 2e100)),
              100.0 * std::log(10.0), 1e-10);
  EXPECT_NEAR(distance(identity(3), std::exp(1.0) * identity(3)), std::sqrt(3.0), 1e-14);
  const Matrix a = random_spd(7, 1e4, 14);
  EXPECT_NEAR(distance(identity(7), a), log(a).norm(), 1e-9);
  EXPECT_LT(distance(a, a), 1e-10);
}

TEST(SpdFunctions, DefiningEquations) {
  for (const Index order : {1, 2, 5, 50, 200}) {
    const Matrix a = random_spd(order, 1e4, 15);
    const Matrix root = spd::sqrt(a);
    EXPECT_LT(gap(multiply(root, root), a), 1e-12);
    EXPECT_LT(gap(multiply(inverse_sqrt(a), root), identity(order)), 1e-9);
    EXPECT_LT(gap(multiply(inverse(a), a), identity(order)), 1e-9);
    EXPECT_LT(gap(exp(log(a)), a), 1e-11);
    EXPECT_LT(gap(multiply(power(a, 0.3), power(a, 0.7)), a), 1e-11);
    EXPECT_LT(gap(power(a, -1.0), inverse(a)), 1e-9);
    EXPECT_LT(gap(power(a, 0.0), identity(order)), 1e-12);
    for (const Matrix& result : {root, inverse(a), Matrix(log(a)), exp(log(a))}) {
      EXPECT_EQ((result - result.transpose()).cwiseAbs().maxCoeff(), 0.0);
    }
  }
}

TEST(SpdFunctions, LogOfExpOfAnySymmetricMatrix) {
  const Matrix half = random_matrix(6, 16);
  const Matrix s = half + half.transpose();
  EXPECT_LT(gap(log(exp(s)), s), 1e-9);
  EXPECT_EQ(gap(exp(Matrix::Zero(3, 3)), identity(3)), 0.0);
}

TEST(SpdKarcher, OfOneAndOfTwo) {
  const Matrix a = random_spd(6, 1e4, 17);
  const Matrix b = random_spd(6, 1e4, 18);
  EXPECT_LT(gap(karcher_mean({a}), a), 1e-10);
  EXPECT_LT(gap(karcher_mean({a, b}), geometric_mean(a, b)), 1e-9);
  EXPECT_LT(gap(karcher_mean({a, b, b}), geometric_mean(a, b, 2.0 / 3.0)), 1e-9);
}

TEST(SpdKarcher, OfCommutingMatricesIsExpOfMeanLog) {
  std::vector<Matrix> matrices;
  Vector mean_log = Vector::Zero(5);
  for (int i = 0; i < 4; ++i) {
    const Vector logs = 3.0 * random_matrix(5, 30 + unsigned(i)).col(0);
    mean_log += logs / 4.0;
    matrices.push_back(with_eigenvalues(logs.array().exp(), 19));
  }
  EXPECT_LT(gap(karcher_mean(matrices), with_eigenvalues(mean_log.array().exp(), 19)), 1e-9);
}

TEST(SpdKarcher, GradientVanishes) {
  for (const double condition : {10.0, 1e4, 1e8}) {
    std::vector<Matrix> matrices;
    for (unsigned i = 0; i < 6; ++i) {
      matrices.push_back(std::pow(10.0, double(i) - 2.0) * random_spd(8, condition, 40 + i));
    }
    const Matrix mean = karcher_mean(matrices);
    const Matrix whiten = inverse_sqrt(mean);
    Matrix gradient = Matrix::Zero(8, 8);
    for (const Matrix& a : matrices) gradient += log(congruence(whiten, a));
    EXPECT_LT(gradient.norm(), 1e-14 * condition + 1e-10) << condition;
  }
}

TEST(SpdKarcher, CommutesWithScaleAndInversion) {
  const std::vector<Matrix> matrices{random_spd(5, 1e3, 50), random_spd(5, 1e3, 51),
                                     random_spd(5, 1e3, 52)};
  const Matrix mean = karcher_mean(matrices);
  std::vector<Matrix> scaled;
  std::vector<Matrix> inverted;
  const double scales[] = {1e100, 1e-100, 1e30};
  for (std::size_t i = 0; i < 3; ++i) {
    scaled.push_back(scales[i] * matrices[i]);
    inverted.push_back(inverse(matrices[i]));
  }
  EXPECT_LT(gap(karcher_mean(scaled), 1e10 * mean), 1e-9);
  EXPECT_LT(gap(karcher_mean(inverted), inverse(mean)), 1e-9);
}

TEST(SpdKarcher, EndsOnIllConditionedInput) {
  const std::vector<Matrix> matrices{random_spd(10, 1e12, 60), random_spd(10, 1e12, 61),
                                     random_spd(10, 1e12, 62)};
  const Matrix mean = karcher_mean(matrices);
  const auto cost = [&](const Matrix& m) {
    double sum = 0.0;
    for (const Matrix& a : matrices) sum += std::pow(distance(m, a), 2);
    return sum;
  };
  EXPECT_NO_THROW(require(mean, "mean"));
  for (const Matrix& a : matrices) EXPECT_LT(cost(mean), cost(geodesic(mean, a, 0.01)));
}

// Properties, over orders 1 to 8 and conditions 1 to 1e4.
struct Sample {
  Index order;
  unsigned seed;
  Matrix a, b;
  double t;
};

Sample sample() {
  const Index order = *rc::gen::inRange(1, 9);
  const unsigned seed = *rc::gen::inRange(0U, 1000000U);
  const double condition = std::pow(10.0, *rc::gen::inRange(0, 5));
  const double t = *rc::gen::inRange(0, 101) / 100.0;
  return {order, seed, random_spd(order, condition, seed), random_spd(order, condition, seed + 1),
          t};
}

RC_GTEST_PROP(SpdProperty, MeanIsSymmetric, ()) {
  const Sample s = sample();
  RC_ASSERT(gap(geometric_mean(s.a, s.b, s.t), geometric_mean(s.b, s.a, 1.0 - s.t)) < 1e-9);
}

RC_GTEST_PROP(SpdProperty, MeanCommutesWithInversion, ()) {
  const Sample s = sample();
  const Matrix mean = geometric_mean(inverse(s.a), inverse(s.b), s.t);
  RC_ASSERT(gap(inverse(geometric_mean(s.a, s.b, s.t)), mean) < 1e-8);
}

RC_GTEST_PROP(SpdProperty, MeanCommutesWithCongruence, ()) {
  const Sample s = sample();
  const Matrix m = multiply(random_spd(s.order, 100.0, s.seed + 2),
                            linalg::svd(random_matrix(s.order, s.seed + 3)).u);
  const Matrix moved = geometric_mean(congruence(m, s.a), congruence(m, s.b), s.t);
  RC_ASSERT(gap(moved, congruence(m, geometric_mean(s.a, s.b, s.t))) < 1e-8);
}

RC_GTEST_PROP(SpdProperty, DistanceIsAnInvariantMetric, ()) {
  const Sample s = sample();
  const Matrix m = multiply(random_spd(s.order, 100.0, s.seed + 2),
                            linalg::svd(random_matrix(s.order, s.seed + 3)).u);
  const Matrix c = random_spd(s.order, 1e3, s.seed + 4);
  const double d = distance(s.a, s.b);
  RC_ASSERT(std::abs(distance(s.b, s.a) - d) < 1e-7);
  RC_ASSERT(std::abs(distance(inverse(s.a), inverse(s.b)) - d) < 1e-7);
  RC_ASSERT(std::abs(distance(congruence(m, s.a), congruence(m, s.b)) - d) < 1e-6);
  RC_ASSERT(d <= distance(s.a, c) + distance(c, s.b) + 1e-9);
}

RC_GTEST_PROP(SpdProperty, RiccatiSolves, ()) {
  const Sample s = sample();
  RC_ASSERT(gap(congruence(riccati(s.a, s.b), s.a), s.b) < 1e-8);
}

Matrix fixture(const std::string& name) {
  return io::read_points(std::string(REMBLAI_TEST_DATA) + "/spd_" + name + ".npy");
}

TEST(SpdOracle, AgreesWithScipy) {
  const Matrix a = fixture("a");
  const Matrix b = fixture("b");
  EXPECT_LT(gap(spd::sqrt(a), fixture("sqrt")), 1e-10);
  EXPECT_LT(gap(inverse_sqrt(a), fixture("inverse_sqrt")), 1e-10);
  EXPECT_LT(gap(power(a, 0.3), fixture("power")), 1e-10);
  EXPECT_LT(gap(log(a), fixture("log")), 1e-10);
  EXPECT_LT(gap(exp(fixture("exp_of")), fixture("exp")), 1e-10);
  EXPECT_LT(gap(inverse(a), fixture("inverse")), 1e-10);
  EXPECT_LT(gap(geometric_mean(a, b), fixture("mean")), 1e-10);
  EXPECT_LT(gap(geodesic(a, b, 0.2), fixture("geodesic")), 1e-10);
  EXPECT_LT(gap(riccati(a, b), fixture("riccati")), 1e-10);
  EXPECT_NEAR(distance(a, b), fixture("distance")(0, 0), 1e-9);
}

TEST(SpdHostile, ShapeAndValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(contains(message([] { require(Matrix::Ones(2, 3), "prior"); }), "prior: 2 x 3"));
  EXPECT_TRUE(contains(message([] { require(Matrix(0, 0), "prior"); }), "prior: 0 x 0"));
  for (const double bad : {nan, inf, -inf}) {
    Matrix a = identity(3);
    a(2, 1) = bad;
    EXPECT_TRUE(contains(message([&] { require(a, "prior"); }), "row 3, column 2"));
    EXPECT_THROW(log(a), Error);
    EXPECT_THROW(exp(a), Error);
    EXPECT_THROW(riccati(identity(3), a), Error);
  }
  Matrix skew = identity(3);
  skew(0, 2) = 0.25;
  const std::string text = message([&] { require(skew, "prior"); });
  EXPECT_TRUE(contains(text, "prior: not symmetric")) << text;
  EXPECT_TRUE(contains(text, "0.25")) << text;
  skew(0, 2) = 1e-9;
  EXPECT_NO_THROW(require(skew, "prior"));
}

TEST(SpdHostile, IndefiniteNamesTheRidgeThatMendsIt) {
  Vector values(3);
  values << -0.31, 1.0, 2.0;
  const Matrix a = with_eigenvalues(values, 70);
  EXPECT_EQ(message([&] { require(a, "prior"); }),
            "Options::prior: not positive definite, smallest eigenvalue -0.31; add a ridge (a "
            "multiple of "
            "the identity larger than 0.31)");
  EXPECT_NO_THROW(require(a + 0.3101 * identity(3), "prior"));
  for (const auto& call : {spd::sqrt, inverse_sqrt, log, inverse}) {
    EXPECT_TRUE(contains(message([&] { call(a); }), "smallest eigenvalue -0.31"));
  }
  EXPECT_TRUE(contains(message([&] { riccati(a, identity(3)); }), "matrix c: not positive"));
  EXPECT_TRUE(contains(message([&] { riccati(identity(3), a); }), "matrix d: not positive"));
  EXPECT_TRUE(contains(message([&] { distance(identity(3), a); }), "matrix b: not positive"));
  EXPECT_TRUE(contains(message([&] { karcher_mean({identity(3), a}); }), "matrices[1]: not"));
}

TEST(SpdHostile, SingularAndZero) {
  const std::string zero = message([] { require(Matrix::Zero(2, 2), "prior"); });
  EXPECT_TRUE(contains(zero, "smallest eigenvalue 0;")) << zero;
  EXPECT_FALSE(contains(zero, "larger than 0)")) << zero;
  const std::string text = message([] { require(Matrix::Ones(4, 4), "prior"); });
  const auto at = text.rfind("larger than ");
  ASSERT_NE(at, std::string::npos) << text;
  const double ridge = std::stod(text.substr(at + 12));
  EXPECT_GT(ridge, 0.0);
  EXPECT_LT(ridge, 1e-13);
  EXPECT_NO_THROW(require(Matrix::Ones(4, 4) + 2.0 * ridge * identity(4), "prior"));
}

TEST(SpdHostile, ArgumentsThatDoNotFit) {
  EXPECT_TRUE(contains(message([] { riccati(identity(2), identity(3)); }), "matrix d: order 3"));
  EXPECT_THROW(distance(identity(2), identity(3)), Error);
  EXPECT_THROW(geometric_mean(identity(2), identity(2), std::nan("")), Error);
  EXPECT_THROW(power(identity(2), std::numeric_limits<double>::infinity()), Error);
  EXPECT_THROW(karcher_mean({}), Error);
  EXPECT_THROW(karcher_mean({identity(2), identity(3)}), Error);
  EXPECT_THROW(karcher_mean({identity(2)}, 0.0), Error);
  EXPECT_THROW(karcher_mean({identity(2)}, 1e-12, 0), Error);
}

TEST(SpdHostile, ResultsOutsideTheRangeOfDouble) {
  EXPECT_TRUE(contains(message([] { exp(800.0 * identity(2)); }), "range of double"));
  EXPECT_TRUE(contains(message([] { exp(-800.0 * identity(2)); }), "range of double"));
  EXPECT_THROW(power(1e200 * identity(2), 2.0), Error);
  EXPECT_THROW(geodesic(identity(2), 1e200 * identity(2), 3.0), Error);
}

TEST(SpdHostile, OrderOne) {
  const Matrix four = Matrix::Constant(1, 1, 4.0);
  const Matrix nine = Matrix::Constant(1, 1, 9.0);
  EXPECT_DOUBLE_EQ(geometric_mean(four, nine)(0, 0), 6.0);
  EXPECT_DOUBLE_EQ(riccati(four, nine)(0, 0), 1.5);
  EXPECT_DOUBLE_EQ(inverse(four)(0, 0), 0.25);
  EXPECT_NEAR(karcher_mean({four, nine})(0, 0), 6.0, 1e-12);
  EXPECT_THROW(require(-four, "prior"), Error);
}

}  // namespace
}  // namespace remblai::spd
