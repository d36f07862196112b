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

}  // namespace remblai::cuda
