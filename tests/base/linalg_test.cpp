// The LAPACK layer against the equations that define each decomposition, at every size and scale.
// Reference products are plain loops, so that a wrong transposition cannot cancel itself.
#include "base/linalg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <utility>

namespace remblai::linalg {
namespace {

Matrix random_matrix(Index rows, Index cols, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(rows, cols, [&] { return normal(engine); });
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c = Matrix::Zero(a.rows(), b.cols());
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index k = 0; k < a.cols(); ++k) c.row(i) += a(i, k) * b.row(k);
  }
  return c;
}

Matrix identity(Index n) {
  return Matrix::Identity(n, n);
}

double gap(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.cols(), b.cols());
  return a.size() == 0 ? 0.0 : (a - b).cwiseAbs().maxCoeff();
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Linalg, MultiplyMatchesLoops) {
  const Matrix a = random_matrix(7, 5, 1);
  const Matrix b = random_matrix(5, 3, 2);
  const Matrix expected = product(a, b);
  const Matrix at = a.transpose();
  const Matrix bt = b.transpose();
  EXPECT_LT(gap(multiply(a, b), expected), 1e-14);
  EXPECT_LT(gap(multiply(at, b, Op::transpose), expected), 1e-14);
  EXPECT_LT(gap(multiply(a, bt, Op::none, Op::transpose), expected), 1e-14);
  EXPECT_LT(gap(multiply(at, bt, Op::transpose, Op::transpose), expected), 1e-14);
}

TEST(Linalg, GemmAccumulates) {
  const Matrix a = random_matrix(4, 6, 3);
  const Matrix b = random_matrix(6, 2, 4);
  const Matrix start = random_matrix(4, 2, 5);
  Matrix c = start;
  gemm(Op::none, a, Op::none, b, 2.0, -3.0, c);
  EXPECT_LT(gap(c, 2.0 * product(a, b) - 3.0 * start), 1e-13);
}

TEST(Linalg, GemmWithBetaZeroForgetsNan) {
  Matrix c = Matrix::Constant(2, 2, kNan);
  gemm(Op::none, identity(2), Op::none, identity(2), 1.0, 0.0, c);
  EXPECT_EQ(gap(c, identity(2)), 0.0);
}

TEST(Linalg, EmptyExtents) {
  EXPECT_EQ(multiply(Matrix(0, 3), Matrix(3, 2)).rows(), 0);
  EXPECT_EQ(gap(multiply(Matrix(2, 0), Matrix(0, 3)), Matrix::Zero(2, 3)), 0.0);
  EXPECT_EQ(gap(gram(Matrix(0, 3)), Matrix::Zero(3, 3)), 0.0);
  EXPECT_EQ(gram(Matrix(3, 0)).size(), 0);
  EXPECT_TRUE(eigh(Matrix(0, 0)).ok);
  EXPECT_TRUE(svd(Matrix(0, 0)).ok);
  EXPECT_EQ(eigenvalues(Matrix(0, 0)).size(), 0);
  Matrix lower;
  EXPECT_TRUE(cholesky(Matrix(0, 0), lower));
  EXPECT_EQ(solve_lower(identity(3), Matrix(3, 0)).cols(), 0);
}

// More rows than one block has, and none at all.
TEST(Linalg, ProductsOfMadeRowsAreThoseOfTheMatrix) {
  for (const Index rows : {0, 5, 9000}) {
    const Matrix a = test::random_matrix(rows, 130, 1), b = test::random_matrix(rows, 150, 2);
    const auto fill = [&](Rows some, Eigen::Ref<Matrix> to) {
      to = b.middleRows(some.begin, some.end - some.begin);
    };
    const Matrix gram = linalg::gram_of_made(rows, 150, fill);
    EXPECT_LE(test::difference(gram, b.transpose() * b), 1e-9);
    EXPECT_EQ(gram, Matrix(gram.transpose()));
    const Matrix product = linalg::transpose_times_made(a, 150, fill);
    EXPECT_LE(test::difference(product, a.transpose() * b), 1e-9);
    EXPECT_EQ(linalg::copy_of(b), b);
  }
}

TEST(Linalg, GramIsExactlySymmetric) {
  for (const Index n : {1, 9, 32, 70}) {
    const Matrix a = random_matrix(40, n, 6);
    const Matrix c = gram(a);
    EXPECT_EQ(gap(c, c.transpose()), 0.0);
    EXPECT_LT(gap(c, product(a.transpose(), a)), 1e-13);
    const Matrix whole = upper_gram_of_rows(a.transpose()).selfadjointView<Eigen::Upper>();
    EXPECT_LT(gap(whole, c), 1e-13);
  }
}

TEST(Linalg, TheInverseOfATriangle) {
  for (const Index n : {1, 5, 48, 49, 63, 200}) {
    Matrix upper = random_matrix(n, n, 3) / static_cast<double>(n);
    upper.diagonal().array() += 2;
    Matrix inverse = upper;
    invert_upper(inverse);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < i; ++j) EXPECT_EQ(inverse(i, j), upper(i, j));  // left as it was
    const Matrix a = upper.triangularView<Eigen::Upper>();
    const Matrix b = inverse.triangularView<Eigen::Upper>();
    EXPECT_LT(gap(product(a, b), identity(n)), 1e-13);
    const Matrix right = random_matrix(n, 3, 4);
    EXPECT_LT(gap(product(a, solve_upper(upper, right)), right), 1e-12);
    EXPECT_LT(gap(product(a.transpose(), solve_upper(upper, right, Op::transpose)), right), 1e-12);
    Matrix square = product(a.transpose(), a), factor = square;
    for (Index i = 0; i < n; ++i) factor.row(i).head(i).setConstant(7);  // not read
    ASSERT_TRUE(cholesky_in_place(factor));
    EXPECT_LT(gap(Matrix(factor.triangularView<Eigen::Upper>()), a), 1e-12);
    square(n - 1, n - 1) -= 10;
    EXPECT_FALSE(cholesky_in_place(square));
  }
}

// A column that depends on others leaves no pivot, wherever it stands.
TEST(Linalg, CholeskyPivotsTellTheRank) {
  Matrix points = random_matrix(60, 20, 4);
  points.col(3) = points.col(7) - 2 * points.col(11);
  points.col(0) = 1e-3 * points.col(19);
  const auto pivots = cholesky_pivots(gram(points), 1e-9);
  ASSERT_EQ(pivots.size(), 18u);
  std::set<Index> columns;
  for (const auto& [column, pivot] : pivots) columns.insert(column);
  EXPECT_EQ(columns.size(), 18u);
  EXPECT_FALSE(columns.contains(0));
  for (std::size_t k = 1; k < pivots.size(); ++k)
    EXPECT_LE(pivots[k].second, pivots[k - 1].second * (1 + 1e-12));
  const Matrix first = points.col(pivots[0].first), second = points.col(pivots[1].first);
  EXPECT_NEAR(pivots[0].second, first.squaredNorm(), 1e-12 * first.squaredNorm());
  const double along = std::pow(first.cwiseProduct(second).sum(), 2) / first.squaredNorm();
  EXPECT_NEAR(pivots[1].second, second.squaredNorm() - along, 1e-12 * second.squaredNorm());
  EXPECT_TRUE(cholesky_pivots(Matrix(0, 0), 0).empty());
}

class LinalgAtScale : public testing::TestWithParam<double> {};

TEST_P(LinalgAtScale, EighRebuilds) {
  for (const Index n : {1, 2, 5, 60}) {
    const Matrix half = random_matrix(n, n, 7);
    const Matrix a = GetParam() * (half + half.transpose());
    const Spectrum s = eigh(a);
    ASSERT_TRUE(s.ok);
    const Matrix scaled = s.vectors * s.values.asDiagonal();
    EXPECT_LT(gap(product(scaled, s.vectors.transpose()), a), 1e-13 * double(n) * GetParam());
    EXPECT_LT(gap(product(s.vectors.transpose(), s.vectors), identity(n)), 1e-13);
    for (Index i = 1; i < n; ++i) EXPECT_LE(s.values(i - 1), s.values(i));
    EXPECT_LT(gap(eigenvalues(a), s.values), 1e-13 * double(n) * GetParam());
  }
}

TEST_P(LinalgAtScale, SvdRebuildsUnsymmetricMatrices) {
  for (const Index n : {1, 2, 5, 60}) {
    const Matrix a = GetParam() * random_matrix(n, n, 8);
    const Svd s = svd(a);
    ASSERT_TRUE(s.ok);
    const Matrix scaled = s.u * s.values.asDiagonal();
    EXPECT_LT(gap(product(scaled, s.v.transpose()), a), 1e-13 * double(n) * GetParam());
    EXPECT_LT(gap(product(s.u.transpose(), s.u), identity(n)), 1e-13);
    EXPECT_LT(gap(product(s.v.transpose(), s.v), identity(n)), 1e-13);
    EXPECT_GE(s.values.minCoeff(), 0.0);
    for (Index i = 1; i < n; ++i) EXPECT_GE(s.values(i - 1), s.values(i));
  }
}

TEST_P(LinalgAtScale, CholeskyAndSolve) {
  for (const Index n : {1, 2, 5, 60}) {
    const Matrix a = GetParam() * (gram(random_matrix(2 * n, n, 9)) + identity(n));
    Matrix lower;
    ASSERT_TRUE(cholesky(a, lower));
    for (Index i = 0; i < n; ++i) {
      for (Index j = i + 1; j < n; ++j) EXPECT_EQ(lower(i, j), 0.0);
    }
    EXPECT_LT(gap(product(lower, lower.transpose()), a), 1e-13 * double(n) * GetParam());
    const Matrix b = random_matrix(n, 3, 10);
    EXPECT_LT(gap(product(lower, solve_lower(lower, b)), b), 1e-12);
    EXPECT_LT(gap(product(lower.transpose(), solve_lower(lower, b, Op::transpose)), b), 1e-12);
  }
}

TEST_P(LinalgAtScale, RowSpaceOfKnownRank) {
  struct Shape {
    Index rows, cols, rank;
  };
  for (const auto& [n, d, r] :
       {Shape{30, 12, 5}, Shape{12, 30, 5}, Shape{20, 20, 7}, Shape{9, 4, 4}, Shape{4, 9, 4},
        Shape{1, 6, 1}, Shape{6, 1, 1}, Shape{1, 1, 1}, Shape{100, 1, 1}, Shape{700, 6, 4},
        Shape{4000, 5, 5}}) {
    const Matrix a = GetParam() * product(random_matrix(n, r, 11), random_matrix(r, d, 12));
    const Matrix v = row_space(a);
    ASSERT_EQ(v.rows(), d);
    ASSERT_EQ(v.cols(), r);
    EXPECT_LT(gap(product(v.transpose(), v), identity(r)), 1e-13);
    EXPECT_LT(gap(product(product(a, v), v.transpose()), a), 1e-12 * GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Scales, LinalgAtScale, testing::Values(1.0, 1e-100, 1e100));

TEST(Linalg, RowSpaceOfNothing) {
  for (const Matrix& a : {Matrix(Matrix::Zero(3, 5)), Matrix(Matrix::Zero(5, 3)), Matrix(0, 4)}) {
    EXPECT_EQ(row_space(a).rows(), a.cols());
    EXPECT_EQ(row_space(a).cols(), 0);
  }
  EXPECT_EQ(row_space(Matrix(3, 0)).rows(), 0);
}

TEST(Linalg, RowSpaceAtTheEdgesOfDouble) {
  const Matrix a = product(random_matrix(9, 2, 16), random_matrix(2, 6, 17));
  for (const double scale : {1e-300, 1e300}) {
    const Matrix v = row_space(scale * a);
    EXPECT_EQ(v.cols(), 2) << scale;
    EXPECT_EQ(row_space(scale * a.transpose()).cols(), 2) << scale;
    EXPECT_LT(gap(product(v.transpose(), v), identity(v.cols())), 1e-13) << scale;
  }
}

TEST(Linalg, RowSpaceDropsWhatIsBelowTolerance) {
  Matrix a = Matrix::Zero(3, 4);
  a.diagonal() << 1.0, 1e-6, 1e-15;
  EXPECT_EQ(row_space(a).cols(), 2);
  EXPECT_EQ(row_space(a, 1e-3).cols(), 1);
  EXPECT_EQ(row_space(a, 1e-18).cols(), 3);
  EXPECT_EQ(row_space(Matrix(a.transpose())).cols(), 2);
}

// All rows nearly alike: the norm of A is sqrt(n) times its largest row, and so is the rounding.
TEST(Linalg, RowSpaceOfManyPositiveRows) {
  const Matrix weights = random_matrix(1200, 40, 13).cwiseAbs();
  const Matrix basis = random_matrix(40, 90, 14).cwiseAbs();
  EXPECT_EQ(row_space(multiply(weights, basis)).cols(), 40);
  EXPECT_EQ(row_space(multiply(weights.topRows(80), basis)).cols(), 40);
}

TEST(Linalg, FailuresAreReturned) {
  Matrix lower;
  for (const double bad : {kNan, kInf, -kInf}) {
    Matrix a = identity(4);
    a(2, 1) = a(1, 2) = bad;
    EXPECT_FALSE(eigh(a).ok);
    EXPECT_FALSE(svd(a).ok);
    EXPECT_EQ(eigenvalues(a).size(), 0);
    EXPECT_FALSE(cholesky(a, lower));
    a = identity(4);
    a(3, 3) = bad;
    EXPECT_FALSE(cholesky(a, lower));
  }
  Matrix indefinite = identity(3);
  indefinite(1, 1) = -1.0;
  EXPECT_FALSE(cholesky(indefinite, lower));
  EXPECT_FALSE(cholesky(Matrix::Zero(3, 3), lower));
}

TEST(Linalg, EveryNonFiniteEntryIsSeen) {
  EXPECT_TRUE(all_finite(Matrix()));
  for (const Index size : {1, 7, 33}) {
    Matrix a = Matrix::Constant(size, size, -std::numeric_limits<double>::max());
    EXPECT_TRUE(all_finite(a));
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity()})
      for (Index i = 0; i < a.size(); ++i) {
        const double kept = std::exchange(a.data()[i], bad);
        EXPECT_FALSE(all_finite(a)) << bad << " at " << i;
        a.data()[i] = kept;
      }
  }
}

TEST(Linalg, AFloatFactorSolvesToItsPrecision) {
  const FloatMatrix b = (0.1 * random_matrix(40, 30, 21)).cast<float>();
  FloatMatrix h = FloatMatrix::Identity(30, 30) * 20;
  subtract_gram(b, h);
  const Matrix truth =
      20 * Matrix::Identity(30, 30) - b.cast<double>().transpose() * b.cast<double>();
  const Vector x = random_matrix(30, 1, 22).col(0);
  Eigen::VectorXf found = (truth * x).cast<float>();
  ASSERT_TRUE(cholesky_in_place(h));
  solve_factored(h, found);
  EXPECT_LT((found.cast<double>() - x).cwiseAbs().maxCoeff(), 1e-5);

  FloatMatrix indefinite = FloatMatrix::Identity(5, 5);
  indefinite(3, 3) = -1;
  EXPECT_FALSE(cholesky_in_place(indefinite));
  FloatMatrix broken = FloatMatrix::Identity(5, 5);
  broken(3, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(cholesky_in_place(broken));
}

TEST(Linalg, ThreadsDoNotChangeResults) {
  const Matrix a = random_matrix(150, 150, 15);
  const auto product = [&](int threads) {
    const Threads scope(threads);
    return multiply(a, a);
  };
  for (const int threads : {0, 2, 3}) EXPECT_LT(gap(product(threads), product(1)), 1e-11);
}

}  // namespace
}  // namespace remblai::linalg
