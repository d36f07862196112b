// One block of threads a row. Sums have a fixed order.
#include "transport/cuda/dense.h"

#include "transport/cuda/block_sum.cuh"

namespace remblai::cuda {
namespace {

__device__ double symmetric(std::int64_t order, const double* lower, std::int64_t i,
                            std::int64_t j) {
  return j <= i ? lower[i * order + j] : lower[j * order + i];
}

__global__ void __launch_bounds__(threads)
    mirror_rows(std::int64_t order, double factor, const double* from, double* to) {
  const std::int64_t i = blockIdx.x;
  for (std::int64_t j = threadIdx.x; j < order; j += threads)
    to[i * order + j] = factor * symmetric(order, from, i, j);
}

__global__ void __launch_bounds__(threads) copy_up_rows(std::int64_t order, double* a) {
  const std::int64_t i = blockIdx.x;
  for (std::int64_t j = i + 1 + threadIdx.x; j < order; j += threads)
    a[i * order + j] = a[j * order + i];
}

__global__ void __launch_bounds__(threads)
    add_squares(std::int64_t order, const double* lower, double* squares) {
  __shared__ double parts[warps];
  const std::int64_t i = blockIdx.x;
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < order; j += threads) {
    const double value = symmetric(order, lower, i, j);
    sum += value * value;
  }
  const double total = block_sum(sum, parts);
  if (threadIdx.x == 0) squares[i] = total;
}

__global__ void __launch_bounds__(threads)
    shift_rows(std::int64_t order, double diagonal, double factor, const double* a, double* to) {
  const std::int64_t i = blockIdx.x;
  for (std::int64_t j = threadIdx.x; j < order; j += threads)
    to[i * order + j] = factor * a[i * order + j] + (i == j ? diagonal : 0);
}

__global__ void __launch_bounds__(threads)
    look_at_rows(std::int64_t order, const double* a, const double* b, double* far,
                 double* diagonal) {
  __shared__ double parts[warps];
  const std::int64_t i = blockIdx.x;
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < order; j += threads)
    sum += fabs(a[i * order + j] - (i == j ? 1 : 0));
  const double total = block_sum(sum, parts);
  if (threadIdx.x > 0) return;
  far[i] = total;
  diagonal[i] = b[i * order + i];
}

__global__ void __launch_bounds__(threads)
    add_squares_of_plain(std::int64_t columns, const double* a, double* squares) {
  __shared__ double parts[warps];
  const double* const row = a + blockIdx.x * columns;
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < columns; j += threads) sum += row[j] * row[j];
  const double total = block_sum(sum, parts);
  if (threadIdx.x == 0) squares[blockIdx.x] = total;
}

__global__ void __launch_bounds__(threads)
    scale_each_row(std::int64_t columns, const double* factors, double* a) {
  const double factor = factors[blockIdx.x];
  double* const row = a + blockIdx.x * columns;
  for (std::int64_t j = threadIdx.x; j < columns; j += threads) row[j] *= factor;
}

__global__ void __launch_bounds__(threads)
    add_along_diagonal(std::int64_t order, const double* more, double* a) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < order) a[i * order + i] += more[i];
}

__global__ void __launch_bounds__(threads)
    make_gaussian(KernelShape shape, const double* squares_of_u, const double* squares_of_v,
                  double width, double* a) {
  const std::int64_t i = blockIdx.x, same = shape.same < 0 ? -1 : shape.same + i;
  const double square = squares_of_u[i];
  double* const row = a + i * shape.columns;
  for (std::int64_t j = threadIdx.x; j < shape.columns; j += threads) {
    const double distance = square + squares_of_v[j] - 2 * row[j];  // fmax would hide a NaN
    row[j] = j == same || distance < 0 ? 1 : exp(-distance / width);
  }
}

__global__ void __launch_bounds__(threads)
    factor_in_one_block(int order, std::int64_t stride, double* a) {
  __shared__ double block[factor_order][factor_order + 1];
  for (int k = threadIdx.x; k < order * order; k += threads)
    block[k / order][k % order] = a[(k / order) * stride + k % order];
  __syncthreads();
  for (int k = 0; k < order; ++k) {
    const double pivot = sqrt(block[k][k]);  // NaN where it is below 0
    __syncthreads();
    for (int i = k + threadIdx.x; i < order; i += threads)
      block[i][k] = i == k ? pivot : block[i][k] / pivot;
    __syncthreads();
    const int rest = order - k - 1;
    for (int at = threadIdx.x; at < rest * rest; at += threads) {
      const int i = k + 1 + at / rest, j = k + 1 + at % rest;
      if (j <= i) block[i][j] -= block[i][k] * block[j][k];
    }
    __syncthreads();
  }
  for (int k = threadIdx.x; k < order * order; k += threads)
    if (k % order <= k / order) a[(k / order) * stride + k % order] = block[k / order][k % order];
}

unsigned rows_of(std::int64_t order) {
  return static_cast<unsigned>(order);
}

}  // namespace

void mirror(std::int64_t order, double factor, const double* from, double* to,
            cudaStream_t stream) {
  mirror_rows<<<rows_of(order), threads, 0, stream>>>(order, factor, from, to);
}

void copy_up(std::int64_t order, double* a, cudaStream_t stream) {
  copy_up_rows<<<rows_of(order), threads, 0, stream>>>(order, a);
}

void squares_of_rows(std::int64_t order, const double* lower, double* squares,
                     cudaStream_t stream) {
  add_squares<<<rows_of(order), threads, 0, stream>>>(order, lower, squares);
}

void shifted(std::int64_t order, double diagonal, double factor, const double* a, double* to,
             cudaStream_t stream) {
  shift_rows<<<rows_of(order), threads, 0, stream>>>(order, diagonal, factor, a, to);
}

void look(std::int64_t order, const double* a, const double* b, double* far, double* diagonal,
          cudaStream_t stream) {
  look_at_rows<<<rows_of(order), threads, 0, stream>>>(order, a, b, far, diagonal);
}

void add_squares_of_rows(std::int64_t rows, std::int64_t columns, const double* a, double* squares,
                         cudaStream_t stream) {
  if (rows > 0) add_squares_of_plain<<<rows_of(rows), threads, 0, stream>>>(columns, a, squares);
}

void scale_rows(std::int64_t rows, std::int64_t columns, const double* factors, double* a,
                cudaStream_t stream) {
  if (rows > 0) scale_each_row<<<rows_of(rows), threads, 0, stream>>>(columns, factors, a);
}

void add_to_diagonal(std::int64_t order, const double* more, double* a, cudaStream_t stream) {
  const std::int64_t blocks = (order + threads - 1) / threads;
  if (order > 0) add_along_diagonal<<<rows_of(blocks), threads, 0, stream>>>(order, more, a);
}

void gaussian_rows(const KernelShape& shape, const double* squares_of_u, const double* squares_of_v,
                   double width, double* a, cudaStream_t stream) {
  if (shape.rows > 0)
    make_gaussian<<<rows_of(shape.rows), threads, 0, stream>>>(shape, squares_of_u, squares_of_v,
                                                               width, a);
}

void factor_block(std::int64_t order, std::int64_t stride, double* a, cudaStream_t stream) {
  factor_in_one_block<<<1, threads, 0, stream>>>(static_cast<int>(order), stride, a);
}

}  // namespace remblai::cuda
