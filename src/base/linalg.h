// Dense linear algebra by BLAS and LAPACK. linalg.cpp is the only file that includes either.
// Sizes are the caller's business (asserted); LAPACK failures are returned, not thrown.
#pragma once

#include <string>

#include "remblai/types.h"

namespace remblai::linalg {

/// While it lives, BLAS and LAPACK use no more than `threads` threads for a call (at least 1). Any
/// thread may make one, and they may end in any order: of those that live at a time, the smallest
/// number counts, for every thread of the process, since OpenBLAS has one number for all. Two fits
/// at a time therefore never use more threads than the more modest one asked for, and `Threads(1)`
/// holds for as long as a team of threads makes calls of its own. When the last one ends, the
/// number from before the first comes back: what the host program has set survives, unless it sets
/// it while one of these lives.
class Threads {
 public:
  explicit Threads(int threads);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int threads_;
};

/// How many threads BLAS and LAPACK use now.
int current_threads();

/// Which BLAS this is, as it calls itself.
std::string library();

/// No NaN and no infinity among the entries.
bool all_finite(const Matrix& a);

enum class Op { none, transpose };

/// C = alpha op(A) op(B) + beta C. C must have its size, and may not alias A or B.
void gemm(Op op_a, const Matrix& a, Op op_b, const Matrix& b, double alpha, double beta, Matrix& c);

/// C = alpha A[first ... first + rows of C] B', in double or float.
void rows_times_transpose(const Matrix& a, Index first, const Matrix& b, double alpha, Matrix& c);
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void rows_times_transpose(const FloatMatrix& a, Index first, const FloatMatrix& b, float alpha,
                          FloatMatrix& c);

/// op(A) op(B).
Matrix multiply(const Matrix& a, const Matrix& b, Op op_a = Op::none, Op op_b = Op::none);

/// A' A, both triangles filled.
Matrix gram(const Matrix& a);

/// A A', both triangles filled.
Matrix gram_of_rows(const Matrix& a);

/// A = Q diag(values) Q', values ascending, Q's columns the vectors. `ok` is false when LAPACK
/// failed or A held a value that is not finite. A is taken as symmetric: one triangle is read.
/// Orders above 23000 fail, here and in svd: LAPACK counts their workspace in 32 bits.
struct Spectrum {
  Vector values;
  Matrix vectors;
  bool ok = false;
};
Spectrum eigh(const Matrix& a);

/// The values alone, about three times cheaper; empty when LAPACK failed.
Vector eigenvalues(const Matrix& a);

/// A = U diag(values) V', values descending; A square. Errors are relative to the largest value.
struct Svd {
  Matrix u;
  Vector values;
  Matrix v;
  bool ok = false;
};
Svd svd(const Matrix& a);

/// Lower factor of A = L L'; false when A is not finite and positive definite to working precision.
bool cholesky(const Matrix& a, Matrix& lower);

/// H -= B'B, the lower triangle only.
void subtract_gram(const FloatMatrix& b, FloatMatrix& h);

/// The lower triangle of H, to that of L in H = L L'. False when H is not positive definite.
bool cholesky_in_place(FloatMatrix& h);

/// x becomes (L L')^-1 x; of L the lower triangle is read.
void solve_factored(const FloatMatrix& lower, Eigen::VectorXf& x);

/// op(L)^-1 B for lower triangular L.
Matrix solve_lower(const Matrix& lower, const Matrix& b, Op op = Op::none);

/// Orthonormal basis (d x r) of the span of the rows of A (n x d, finite), by QR with column
/// pivoting; directions whose pivot is below `tolerance` times the first are dropped. A = 0 has a
/// d x 0 basis. O(n d min(n, d)); no d x d matrix is formed when n < d.
Matrix row_space(const Matrix& a, double tolerance = 1e-13);

}  // namespace remblai::linalg
