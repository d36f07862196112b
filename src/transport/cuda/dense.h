// Small steps between products of square matrices on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace remblai::cuda {

/// to = factor times the symmetric matrix whose lower triangle is that of `from`, row by row.
void mirror(std::int64_t order, double factor, const double* from, double* to, cudaStream_t stream);

/// The upper triangle becomes what the lower one is.
void copy_up(std::int64_t order, double* a, cudaStream_t stream);

/// squares[i] = the sum of squares of row i of the symmetric matrix with this lower triangle.
void squares_of_rows(std::int64_t order, const double* lower, double* squares, cudaStream_t stream);

/// to = diagonal I + factor A; `to` may be A.
void shifted(std::int64_t order, double diagonal, double factor, const double* a, double* to,
             cudaStream_t stream);

/// far[i] = the sum over row i of |a_ij - identity_ij|, and diagonal[i] = b_ii.
void look(std::int64_t order, const double* a, const double* b, double* far, double* diagonal,
          cudaStream_t stream);

/// squares[i] = |row i of a|^2.
void add_squares_of_rows(std::int64_t rows, std::int64_t columns, const double* a, double* squares,
                         cudaStream_t stream);

/// Row i of a times factors[i].
void scale_rows(std::int64_t rows, std::int64_t columns, const double* factors, double* a,
                cudaStream_t stream);

/// a_ii += more[i].
void add_to_diagonal(std::int64_t order, const double* more, double* a, cudaStream_t stream);

/// Inner products of points become exp(-|u_i - v_j|^2 / width). `same` is the column that is the
/// point of row 0, that of row 1 being the next one; below 0 no point is in both sets.
struct KernelShape {
  std::int64_t rows = 0, columns = 0, same = -1;
};
void gaussian_rows(const KernelShape& shape, const double* squares_of_u, const double* squares_of_v,
                   double width, double* a, cudaStream_t stream);

/// The lower triangle of a matrix of up to `factor_order` rows becomes L of A = L L'. Of one that
/// is not positive definite NaN is left.
inline constexpr std::int64_t factor_order = 64;
void factor_block(std::int64_t order, std::int64_t stride, double* a, cudaStream_t stream);

}  // namespace remblai::cuda
