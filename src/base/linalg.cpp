// Dense products by OpenBLAS for the row-major matrices of types.h, and the threads that it has.
// Where the thread has an engine, large products go there. Decompositions are in
// linalg_factors.cpp.
#include "base/linalg.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <vector>

#include "base/engine.h"
#include "base/linalg_blas.h"
#include "base/openblas_core.h"
#include "base/parallel.h"

namespace remblai::linalg {
namespace {

// Here and not beside its definition, so that a static library has it wherever there is BLAS.
[[maybe_unused]] const bool kernels_chosen = choose_openblas_kernels();

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

}  // namespace remblai::linalg
