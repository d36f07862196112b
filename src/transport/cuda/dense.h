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

}  // namespace remblai::cuda
