// Dense linear algebra by BLAS and LAPACK. linalg.cpp (products) and linalg_factors.cpp
// (decompositions) are the only files that include either. Sizes that do not fit are a mistake of
// ours and are asserted. Failures of LAPACK are returned and never thrown.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "remblai/types.h"

namespace remblai::linalg {

/// While it lives, BLAS and LAPACK use no more than `threads` threads for a call (at least 1). Any
/// thread may make such a scope, and scopes may end in any order. OpenBLAS has one number for the
/// whole process, so among the scopes that live at a time the smallest number counts for all
/// threads. Two fits at a time therefore never use more threads than the more modest one asked for,
/// and `Threads(1)` holds while a team of threads makes calls of its own. When the last scope ends,
/// the number from before the first comes back. What the host program has set survives, unless it
/// sets it while a scope lives.
class Threads {
 public:
  explicit Threads(int threads);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int threads_;
};

/// The number of threads that BLAS and LAPACK use now.
int current_threads();

/// Calls body(piece, its rows) for the pieces of `rows` rows of `width` numbers each (see
/// `piece_count`), by as many threads as BLAS may use where there are numbers enough.
void for_rows(Index rows, Index width, const std::function<void(Index, Rows)>& body);

/// A copy. New memory is touched by all threads, which takes far less time than one would.
Matrix copy_of(const MatrixView& a);

/// The name, version and kernels of the BLAS, in its own words.
std::string library();

/// True when no entry is NaN or an infinity.
bool all_finite(const MatrixView& a);

/// The power of two just above `size`, so that divisions by it are exact; 1 for 0 and for what is
/// not finite.
double power_of_two_above(double size);

/// The length of the longest row; 0 when there is none.
double longest_row(const Matrix& a);

/// A vector of `size` entries with the values at their places and -infinity elsewhere: potentials
/// of points, of which those of weight zero have none.
Vector spread(const Vector& values, const std::vector<Index>& places, Index size);

enum class Op { none, transpose };

/// C = alpha op(A) op(B) + beta C. C must already have its size, and may not alias A or B.
void gemm(Op op_a, const Matrix& a, Op op_b, const Matrix& b, double alpha, double beta, Matrix& c);

/// C = alpha A_some B_some', where A_some are as many rows of A from `first` on as C has, and
/// B_some as many of B from `first_of_b` on as C has columns. In double or float.
void rows_times_transpose(const Matrix& a, Index first, const Matrix& b, double alpha, Matrix& c,
                          Index first_of_b = 0);
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void rows_times_transpose(const FloatMatrix& a, Index first, const FloatMatrix& b, float alpha,
                          FloatMatrix& c, Index first_of_b = 0);

/// op(A) op(B).
Matrix multiply(const Matrix& a, const Matrix& b, Op op_a = Op::none, Op op_b = Op::none);

/// A' A, with both triangles filled.
Matrix gram(const Matrix& a);

/// A' A for a matrix of this size that need not be there as a whole. `fill` gets some of its rows
/// and room for them, and is called by several threads at a time. Both triangles are filled.
using FillRows = std::function<void(Rows, Eigen::Ref<Matrix>)>;
Matrix gram_of_made(Index rows, Index columns, const FillRows& fill);

/// A' B for a B of as many rows as A that is made in the same way.
Matrix transpose_times_made(const Matrix& a, Index columns, const FillRows& fill);

/// A A', with both triangles filled.
Matrix gram_of_rows(const Matrix& a);

/// The same, of which only the upper triangle is right.
Matrix upper_gram_of_rows(const Matrix& a);

/// A = Q diag(values) Q'. The values are ascending, and the columns of Q are the vectors. `ok` is
/// false when LAPACK failed or A holds a value that is not finite. A is taken as symmetric, and
/// only one triangle is read. Orders above 23000 fail, here and in svd, because LAPACK counts the
/// workspace in 32 bits.
struct Spectrum {
  Vector values;
  Matrix vectors;
  bool ok = false;
};
Spectrum eigh(const Matrix& a);

/// The eigenvalues alone, ascending, for about a third of the time. Empty when LAPACK failed.
Vector eigenvalues(const Matrix& a);

/// A = U diag(values) V' for a square A. The values are descending, and their errors are relative
/// to the largest one.
struct Svd {
  Matrix u;
  Vector values;
  Matrix v;
  bool ok = false;
};
Svd svd(const Matrix& a);

/// Makes `lower` the factor L of A = L L'. Returns false when A is not finite, or not positive
/// definite to working precision.
bool cholesky(const Matrix& a, Matrix& lower);

/// Replaces the upper triangle of A by that of R, where A = R' R; the lower one is neither read nor
/// changed. Does not look for values that are not finite. Returns false when A is not positive
/// definite. LAPACK is faster by a third at this than at the lower triangle.
bool cholesky_in_place(Matrix& a);

/// The pivots of a Cholesky factorisation with pivoting, largest first, of a matrix that is
/// positive semidefinite to rounding: what is left of each entry of the diagonal beside those
/// before it, and its place. It ends before the first that is not above `tolerance`. O(n^3 / 3).
std::vector<std::pair<Index, double>> cholesky_pivots(Matrix a, double tolerance);

/// H -= B'B in the lower triangle of H; the upper one is not touched.
void subtract_gram(const FloatMatrix& b, FloatMatrix& h);

/// Replaces the lower triangle of H by that of L, where H = L L'. Returns false when H is not
/// positive definite.
bool cholesky_in_place(FloatMatrix& h);

/// x becomes (L L')^-1 x. Only the lower triangle of L is read.
void solve_factored(const FloatMatrix& lower, Eigen::VectorXf& x);

/// op(L)^-1 B for lower triangular L.
Matrix solve_lower(const Matrix& lower, const Matrix& b, Op op = Op::none);

/// op(R)^-1 B for upper triangular R.
Matrix solve_upper(const Matrix& upper, const Matrix& b, Op op = Op::none);

/// Replaces the upper triangle of R by that of its inverse; the lower one is left as it was. The
/// diagonal has no zeros. O(n^3 / 3).
void invert_upper(Matrix& upper);

/// L' C L for lower triangular L and symmetric C. Only the lower triangle of the result is right,
/// which is what `eigh` reads. O(n^3), a quarter of two products.
Matrix congruence(const Matrix& lower, const Matrix& c);

/// B L' for lower triangular L, at half the price of a product.
Matrix times_transposed_lower(Matrix b, const Matrix& lower);

/// At most d rows with the same Gram matrix A'A, for A with d columns: A itself where it has no
/// more, else the triangle of its QR factorisation.
Matrix triangle_of(const Matrix& a);

/// An orthonormal basis (d x r) of the span of the rows of A (n x d, finite), by QR with column
/// pivoting. Directions whose pivot is below `tolerance` times the first are dropped, so A = 0 has
/// a d x 0 basis. O(n d min(n, d)). No d x d matrix is formed when n < d.
Matrix row_space(const Matrix& a, double tolerance = 1e-13);

}  // namespace remblai::linalg
