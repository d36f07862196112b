// Dense linear algebra by OpenBLAS and LAPACKE, for the row-major matrices of types.h.
// A row-major A is a column-major A', so LAPACK is always called column-major: nothing is copied
// for it. Where the thread has an engine, large products go there.
#include "base/linalg.h"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <vector>

#include "base/engine.h"
#include "base/openblas_core.h"
#include "base/parallel.h"

namespace remblai::linalg {
namespace {

// Here and not beside its definition, so that a static library has it wherever there is BLAS.
[[maybe_unused]] const bool kernels_chosen = choose_openblas_kernels();

// The 32-bit workspace sizes of dgesdd (4 n^2 + 7 n) and dsyevd (2 n^2 + 6 n + 1) overflow above
// it.
constexpr Index kLargestOrder = 23000;

int size(Index n) {
  assert(n >= 0 && n <= std::numeric_limits<int>::max());
  return static_cast<int>(n);
}

/// Leading dimensions may not be 0, even of an empty matrix.
int stride(Index n) {
  return std::max(1, size(n));
}

/// The numbers of threads that living scopes ask for. Never destroyed, since a thread may still
/// compute when the process ends.
struct Requests {
  std::mutex mutex;
  std::multiset<int> living;
  int before = 1;  // the first of them
};

Requests& requests() {
  static Requests& all = *new Requests;
  return all;
}

void use_threads(int threads) {
  if (threads != current_threads()) openblas_set_num_threads(threads);
}

CBLAS_TRANSPOSE flag(Op op) {
  return op == Op::none ? CblasNoTrans : CblasTrans;
}

Operand operand(const Matrix& a, Op op = Op::none) {
  return {a.data(), a.rows(), a.cols(), op == Op::transpose};
}

/// The engine of this thread, where it makes a product of this size sooner.
Engine* engine_for(Index rows, Index columns, Index inner) {
  Engine* engine = current_engine();
  const auto m = static_cast<double>(rows), n = static_cast<double>(columns),
             k = static_cast<double>(inner);
  return engine && engine->worth(m * n * k, m * k + n * k + m * n) ? engine : nullptr;
}

/// The upper triangle of C becomes that of C + op(A) op(A)', n x n with k terms an entry.
void add_symmetric_product(const Matrix& a, CBLAS_TRANSPOSE op, Index n, Index k, Matrix& c) {
  cblas_dsyrk(CblasRowMajor, CblasUpper, op, size(n), size(k), 1.0, a.data(), stride(a.cols()), 1.0,
              c.data(), stride(n));
}

/// The lower triangle becomes that of a symmetric matrix. By tiles, for a column is far from the
/// next in memory.
void fill_lower(Matrix& c) {
  constexpr Index tile = 32;
  const Index n = c.rows();
  for (Index i = 0; i < n; i += tile) {
    const Index rows = std::min(tile, n - i);
    for (Index j = 0; j < i; j += tile)
      c.block(i, j, rows, tile) = c.block(j, i, tile, rows).transpose();
    auto corner = c.block(i, i, rows, rows);
    corner.triangularView<Eigen::StrictlyLower>() = corner.transpose();
  }
}

Matrix upper_product(const Matrix& a, CBLAS_TRANSPOSE op, Index n, Index k) {
  if (Engine* engine = engine_for(n, n, k)) {
    Matrix c(n, n);
    const bool inner = op == CblasTrans;
    if (engine->multiply(operand(a, inner ? Op::transpose : Op::none),
                         operand(a, inner ? Op::none : Op::transpose), 1, c.data()))
      return c;
  }
  Matrix c = Matrix::Zero(n, n);
  add_symmetric_product(a, op, n, k, c);
  return c;
}

Matrix symmetric_product(const Matrix& a, CBLAS_TRANSPOSE op, Index n, Index k) {
  Matrix c = upper_product(a, op, n, k);
  fill_lower(c);
  return c;
}

/// Of the blocks that go to an engine.
constexpr Index numbers_of_engine = Index{1} << 22;

/// body(first row, some rows) for blocks of a matrix that `fill` makes. A block of `numbers` stays
/// in a cache and is enough work for one call of BLAS.
template <class Body>
void for_made_blocks(Index rows, Index columns, const FillRows& fill, Body&& body,
                     Index numbers = Index{1} << 20) {
  const Index most = std::max<Index>(64, numbers / std::max<Index>(1, columns));
  Matrix block;
  for (Index first = 0; first < rows; first += most) {
    block.resize(std::min(most, rows - first), columns);
    for_rows(block.rows(), columns, [&](Index, Rows part) {
      fill({first + part.begin, first + part.end},
           block.middleRows(part.begin, part.end - part.begin));
    });
    body(first, block);
  }
}

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

// NaN and infinity times 0 are NaN, which no sum loses; this runs at the speed of memory.
bool all_finite(const MatrixView& a) {
  return (a.array() * 0).sum() == 0;
}

double power_of_two_above(double size) {
  return size > 0 && std::isfinite(size) ? std::exp2(std::ceil(std::log2(size))) : 1;
}

double longest_row(const Matrix& a) {
  return a.rows() ? a.rowwise().norm().maxCoeff() : 0;
}

Vector spread(const Vector& values, const std::vector<Index>& places, Index size) {
  Vector all = Vector::Constant(size, -std::numeric_limits<double>::infinity());
  all(places) = values;
  return all;
}

std::string library() {
  return std::string(openblas_get_config()) + " with kernels for " + openblas_get_corename();
}

Threads::Threads(int threads) : threads_(std::max(1, threads)) {
  Requests& all = requests();
  const std::lock_guard lock(all.mutex);
  if (all.living.empty()) all.before = current_threads();
  all.living.insert(threads_);
  use_threads(*all.living.begin());
}

Threads::~Threads() {
  Requests& all = requests();
  const std::lock_guard lock(all.mutex);
  all.living.erase(all.living.find(threads_));
  use_threads(all.living.empty() ? all.before : *all.living.begin());
}

int current_threads() {
  return openblas_get_num_threads();
}

void for_rows(Index rows, Index width, const std::function<void(Index, Rows)>& body) {
  constexpr double few = 100000;  // numbers that one thread is through with before others wake up
  const bool alone = static_cast<double>(rows) * static_cast<double>(width) < few;
  const Index pieces = piece_count(rows);
  run_pieces(pieces, alone ? 1 : current_threads(),
             [&](Index k) { body(k, piece(rows, pieces, k)); });
}

Matrix copy_of(const MatrixView& a) {
  Matrix copy(a.rows(), a.cols());
  for_rows(a.rows(), a.cols(), [&](Index, Rows rows) {
    const Index count = rows.end - rows.begin;
    copy.middleRows(rows.begin, count) = a.middleRows(rows.begin, count);
  });
  return copy;
}

void gemm(Op op_a, const Matrix& a, Op op_b, const Matrix& b, double alpha, double beta,
          Matrix& c) {
  const Index rows = op_a == Op::none ? a.rows() : a.cols();
  const Index inner = op_a == Op::none ? a.cols() : a.rows();
  const Index cols = op_b == Op::none ? b.cols() : b.rows();
  assert(inner == (op_b == Op::none ? b.rows() : b.cols()));
  assert(c.rows() == rows && c.cols() == cols);
  assert(c.size() == 0 || (c.data() != a.data() && c.data() != b.data()));
  Engine* engine = beta == 0 ? engine_for(rows, cols, inner) : nullptr;
  if (engine && engine->multiply(operand(a, op_a), operand(b, op_b), alpha, c.data())) return;
  cblas_dgemm(CblasRowMajor, flag(op_a), flag(op_b), size(rows), size(cols), size(inner), alpha,
              a.data(), stride(a.cols()), b.data(), stride(b.cols()), beta, c.data(), stride(cols));
}

Matrix multiply(const Matrix& a, const Matrix& b, Op op_a, Op op_b) {
  Matrix c(op_a == Op::none ? a.rows() : a.cols(), op_b == Op::none ? b.cols() : b.rows());
  gemm(op_a, a, op_b, b, 1.0, 0.0, c);
  return c;
}

void rows_times_transpose(const Matrix& a, Index first, const Matrix& b, double alpha, Matrix& c,
                          Index first_of_b) {
  Engine* engine = engine_for(c.rows(), c.cols(), a.cols());
  if (engine &&
      engine->multiply({a.row(first).data(), c.rows(), a.cols()},
                       {b.row(first_of_b).data(), c.cols(), b.cols(), true}, alpha, c.data()))
    return;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(c.rows()), size(c.cols()),
              size(a.cols()), alpha, a.row(first).data(), stride(a.cols()),
              b.row(first_of_b).data(), stride(b.cols()), 0, c.data(), stride(c.cols()));
}

void rows_times_transpose(const FloatMatrix& a, Index first, const FloatMatrix& b, float alpha,
                          FloatMatrix& c, Index first_of_b) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(c.rows()), size(c.cols()),
              size(a.cols()), alpha, a.row(first).data(), stride(a.cols()),
              b.row(first_of_b).data(), stride(b.cols()), 0, c.data(), stride(c.cols()));
}

Matrix gram(const Matrix& a) {
  return symmetric_product(a, CblasTrans, a.cols(), a.rows());
}

Matrix gram_of_made(Index rows, Index columns, const FillRows& fill) {
  Matrix c(columns, columns);
  if (Engine* engine = engine_for(columns, columns, rows)) {
    engine->start_sum(columns, columns);
    for_made_blocks(
        rows, columns, fill,
        [&](Index, const Matrix& block) { engine->add_to_sum(operand(block), operand(block)); },
        numbers_of_engine);
    if (engine->fetch_sum(c.data())) return c;
  }
  c.setZero();
  for_made_blocks(rows, columns, fill, [&](Index, const Matrix& block) {
    add_symmetric_product(block, CblasTrans, columns, block.rows(), c);
  });
  fill_lower(c);
  return c;
}

Matrix transpose_times_made(const Matrix& a, Index columns, const FillRows& fill) {
  Matrix c(a.cols(), columns);
  if (Engine* engine = engine_for(a.cols(), columns, a.rows())) {
    engine->start_sum(a.cols(), columns);
    for_made_blocks(
        a.rows(), columns, fill,
        [&](Index first, const Matrix& block) {
          engine->add_to_sum({a.row(first).data(), block.rows(), a.cols()}, operand(block));
        },
        numbers_of_engine);
    if (engine->fetch_sum(c.data())) return c;
  }
  c.setZero();
  for_made_blocks(a.rows(), columns, fill, [&](Index first, const Matrix& block) {
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, size(a.cols()), size(columns),
                size(block.rows()), 1.0, a.row(first).data(), stride(a.cols()), block.data(),
                stride(columns), 1.0, c.data(), stride(columns));
  });
  return c;
}

Matrix gram_of_rows(const Matrix& a) {
  return symmetric_product(a, CblasNoTrans, a.rows(), a.cols());
}

Matrix upper_gram_of_rows(const Matrix& a) {
  return upper_product(a, CblasNoTrans, a.rows(), a.cols());
}

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
