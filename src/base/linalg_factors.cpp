// Decompositions and triangular systems by OpenBLAS and LAPACKE, for the row-major matrices of
// types.h. A row-major A is a column-major A', so LAPACK is always called column-major.
#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/linalg.h"
#include "base/linalg_blas.h"
#include "base/parallel.h"

namespace remblai::linalg {
namespace {

// The 32-bit workspace sizes of dgesdd (4 n^2 + 7 n) and dsyevd (2 n^2 + 6 n + 1) overflow above
// it.
constexpr Index kLargestOrder = 23000;

bool usable(const Matrix& a) {
  assert(a.rows() == a.cols());
  return a.rows() <= kLargestOrder && all_finite(a);
}

/// Of the column-major square `a`: A P = Q R with pivots |r_kk| descending. Leaves in `a` the
/// leading columns of Q whose pivot exceeds `tolerance` times the first, and returns their number.
int pivoted_basis(int n, std::vector<double>& a, double tolerance) {
  std::vector<int> order(static_cast<std::size_t>(n), 0);
  std::vector<double> tau(static_cast<std::size_t>(n));
  LAPACKE_dgeqp3(LAPACK_COL_MAJOR, n, n, a.data(), n, order.data(), tau.data());
  const auto pivot = [&](int k) { return std::abs(a[static_cast<std::size_t>(k) * (n + 1)]); };
  int rank = 0;
  while (rank < n && pivot(rank) > tolerance * pivot(0)) ++rank;
  if (rank > 0) LAPACKE_dorgqr(LAPACK_COL_MAJOR, n, rank, rank, a.data(), n, tau.data());
  return rank;
}

}  // namespace

Spectrum eigh(const Matrix& a) {
  Spectrum result;
  if (!usable(a)) return result;
  const int n = size(a.rows());
  result.values.resize(n);
  result.vectors = a;
  result.ok = n == 0 || LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', n, result.vectors.data(), n,
                                       result.values.data()) == 0;
  result.vectors.transposeInPlace();
  return result;
}

Vector eigenvalues(const Matrix& a) {
  if (a.rows() == 0 || !usable(a)) return {};
  const int n = size(a.rows());
  Vector values(n);
  Matrix work = a;
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'U', n, work.data(), n, values.data()) != 0) return {};
  return values;
}

Svd svd(const Matrix& a) {
  Svd result;
  if (!usable(a)) return result;
  const int n = size(a.rows());
  result.values.resize(n);
  result.u.resize(n, n);
  result.v.resize(n, n);
  if (n == 0) {
    result.ok = true;
    return result;
  }
  // LAPACK sees A' = V diag(values) U': its left vectors are V (read by rows: V'), its right U.
  Matrix work = a;
  result.ok = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'A', n, n, work.data(), n, result.values.data(),
                             result.v.data(), n, result.u.data(), n) == 0;
  if (!result.ok) {  // divide and conquer can fail where the QR iteration does not
    work = a;
    Vector superdiagonal(n);
    result.ok =
        LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'A', 'A', n, n, work.data(), n, result.values.data(),
                       result.v.data(), n, result.u.data(), n, superdiagonal.data()) == 0;
  }
  result.v.transposeInPlace();
  return result;
}

bool cholesky(const Matrix& a, Matrix& lower) {
  assert(a.rows() == a.cols());
  if (!all_finite(a)) return false;  // OpenBLAS lets NaN through
  const int n = size(a.rows());
  lower = a;
  if (n > 0 && LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', n, lower.data(), n) != 0) return false;
  lower.triangularView<Eigen::StrictlyUpper>().setZero();
  return true;
}

void subtract_gram(const FloatMatrix& b, FloatMatrix& h) {
  assert(h.rows() == b.cols() && h.cols() == b.cols());
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, size(b.cols()), size(b.rows()), -1.0F,
              b.data(), stride(b.cols()), 1.0F, h.data(), stride(h.cols()));
}

bool cholesky_in_place(FloatMatrix& h) {
  // The plain LAPACKE call would look for NaN in all of H; one of them reaches the last diagonal.
  const int n = size(h.rows());
  return LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', n, h.data(), stride(h.cols())) == 0 &&
         h.diagonal().allFinite();
}

void solve_factored(const FloatMatrix& lower, Eigen::VectorXf& x) {
  assert(lower.rows() == lower.cols() && lower.rows() == x.size());
  for (const CBLAS_TRANSPOSE op : {CblasNoTrans, CblasTrans})
    cblas_strsv(CblasRowMajor, CblasLower, op, CblasNonUnit, size(x.size()), lower.data(),
                stride(lower.cols()), x.data(), 1);
}

namespace {

Matrix solve(CBLAS_UPLO side, const Matrix& triangle, Op op, Matrix x) {
  assert(triangle.rows() == triangle.cols() && triangle.rows() == x.rows());
  cblas_dtrsm(CblasRowMajor, CblasLeft, side, flag(op), CblasNonUnit, size(x.rows()),
              size(x.cols()), 1.0, triangle.data(), stride(triangle.cols()), x.data(),
              stride(x.cols()));
  return x;
}

}  // namespace

Matrix solve_lower(const Matrix& lower, const Matrix& b, Op op) {
  return solve(CblasLower, lower, op, b);
}

Matrix solve_upper(const Matrix& upper, const Matrix& b, Op op) {
  return solve(CblasUpper, upper, op, b);
}

// Row-major L is an upper triangle to LAPACK, which makes U C U' of it.
Matrix congruence(const Matrix& lower, const Matrix& c) {
  assert(lower.rows() == lower.cols() && c.rows() == c.cols() && c.rows() == lower.rows());
  if (engine_for(c.rows(), c.rows(), c.rows()))
    return multiply(multiply(lower, c, Op::transpose), lower);
  Matrix product = c;
  const int n = size(c.rows());
  if (n > 0) LAPACKE_dsygst(LAPACK_COL_MAJOR, 2, 'U', n, product.data(), n, lower.data(), n);
  return product;
}

Matrix times_transposed_lower(Matrix b, const Matrix& lower) {
  assert(lower.rows() == lower.cols() && b.cols() == lower.rows());
  if (engine_for(b.rows(), b.cols(), b.cols())) return multiply(b, lower, Op::none, Op::transpose);
  cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, size(b.rows()),
              size(b.cols()), 1.0, lower.data(), stride(lower.cols()), b.data(), stride(b.cols()));
  return b;
}

namespace {

// By halves, so that nearly all of it is products of matrices: (A B; 0 C)^-1 has -A^-1 B C^-1 where
// B was. LAPACK takes three times as long.
void invert_upper(double* upper, int n, int width) {
  constexpr int small = 48;
  if (n <= small) {
    LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', n, upper, width);
    return;
  }
  const int half = n / 16 * 8, rest = n - half;
  double* beside = upper + half;
  double* corner = beside + static_cast<std::ptrdiff_t>(half) * width;
  invert_upper(upper, half, width);
  invert_upper(corner, rest, width);
  cblas_dtrmm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, half, rest, -1.0,
              upper, width, beside, width);
  cblas_dtrmm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, half, rest, 1.0,
              corner, width, beside, width);
}

}  // namespace

void invert_upper(Matrix& upper) {
  assert(upper.rows() == upper.cols());
  if (upper.rows() > 0) invert_upper(upper.data(), size(upper.rows()), stride(upper.cols()));
}

std::vector<std::pair<Index, double>> cholesky_pivots(Matrix a, double tolerance) {
  assert(a.rows() == a.cols());
  const int n = size(a.rows());
  int rank = 0;
  std::vector<int> order(static_cast<std::size_t>(n));
  if (n > 0) LAPACKE_dpstrf(LAPACK_COL_MAJOR, 'U', n, a.data(), n, order.data(), &rank, tolerance);
  std::vector<std::pair<Index, double>> pivots;
  for (Index k = 0; k < rank; ++k)
    pivots.emplace_back(order[static_cast<std::size_t>(k)] - 1, a(k, k) * a(k, k));
  return pivots;
}

bool cholesky_in_place(Matrix& a) {
  assert(a.rows() == a.cols());
  const int n = size(a.rows());
  return n == 0 || LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, a.data(), n) == 0;
}

Matrix triangle_of(const Matrix& a) {
  const int n = size(a.rows()), d = size(a.cols());
  if (n <= d) return a;
  Matrix work = a;
  std::vector<double> tau(static_cast<std::size_t>(d));
  LAPACKE_dgelqf(LAPACK_COL_MAJOR, d, n, work.data(), d, tau.data());
  Matrix triangle = Matrix::Zero(d, d);
  for (Index j = 0; j < d; ++j) triangle.row(j).tail(d - j) = work.row(j).tail(d - j);
  return triangle;
}

namespace {

// A triangular factor for every piece of a tall matrix, one below the other: fewer rows with the
// same span. Threads make them side by side, because the factorisation of one tall matrix runs at
// the speed of memory. The pieces do not depend on the number of threads.
Matrix triangular_factors(const Matrix& a) {
  const Index d = a.cols(), pieces = a.rows() / (8 * d);
  Matrix factors(pieces * d, d);
  const int threads = current_threads();
  const Threads scope(1);
  run_pieces(pieces, threads, [&](Index k) {
    const Rows rows = piece(a.rows(), pieces, k);
    factors.middleRows(k * d, d) = triangle_of(a.middleRows(rows.begin, rows.end - rows.begin));
  });
  return factors;
}

}  // namespace

Matrix row_space(const Matrix& a, double tolerance) {
  const int d = size(a.cols());
  const double largest = a.size() == 0 ? 0.0 : a.cwiseAbs().maxCoeff();
  if (!(largest > 0.0)) return Matrix(d, 0);
  std::vector<Index> used;  // columns that are not zero
  for (Index j = 0; j < d; ++j)
    if ((a.col(j).array() != 0).any()) used.push_back(j);
  if (static_cast<int>(used.size()) < d) {
    const Matrix within = row_space(a(Eigen::all, used), tolerance);
    Matrix basis = Matrix::Zero(d, within.cols());
    basis(used, Eigen::all) = within;
    return basis;
  }
  // Pivoting runs at the speed of memory, so it is left to a square factor of order min(n, d).
  Matrix work = a / largest;
  while (work.rows() >= 16 * d) work = triangular_factors(work);
  const int n = size(work.rows());
  const int order = std::min(n, d);
  std::vector<double> tau(static_cast<std::size_t>(order));
  std::vector<double> factor(static_cast<std::size_t>(order) * order, 0.0);
  const auto column = [&](int j) {
    return factor.begin() + static_cast<std::ptrdiff_t>(j) * order;
  };
  if (n > d) {
    LAPACKE_dgelqf(LAPACK_COL_MAJOR, d, n, work.data(), d, tau.data());
    for (int j = 0; j < d; ++j) {
      std::copy(&work(j, 0) + j, &work(j, 0) + d, column(j) + j);
    }
  } else {
    LAPACKE_dgeqrf(LAPACK_COL_MAJOR, d, n, work.data(), d, tau.data());
    for (int j = 0; j < n; ++j) {
      std::copy(&work(j, 0), &work(j, 0) + j + 1, column(j));
    }
  }
  const int rank = pivoted_basis(order, factor, tolerance);
  Matrix basis = Matrix::Zero(rank, d);  // read by columns: d x rank
  for (int j = 0; j < rank; ++j) std::copy(column(j), column(j) + order, &basis(j, 0));
  if (n <= d) {
    LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'N', d, rank, n, work.data(), d, tau.data(), basis.data(),
                   d);
  }
  return basis.transpose();
}

}  // namespace remblai::linalg
