// A vector is short beside the matrix. What is done with vectors between two products is one kernel
// of a few blocks that wait for each other: a cluster, or a single block where the GPU knows none.
// Sums have a fixed order, so they have the same bits every time.
#include "transport/cuda/vectors.h"

#include <cooperative_groups.h>

#include "transport/cuda/block_sum.cuh"
#include "transport/cuda/overlap.cuh"

namespace remblai::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr int most_blocks = 8, wide_threads = 1024, wide_warps = wide_threads / 32;
static_assert(wide_warps == 32);  // a warp adds up what the warps of a block have

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), bool clusters, Stream stream, Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[2] = {overlapping()};
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {most_blocks, 1, 1};
  config.gridDim = clusters ? most_blocks : 1;
  config.blockDim = wide_threads;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = clusters ? 2 : 0;
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

// Until all threads of all blocks are here.
__device__ void meet() {
#if __CUDA_ARCH__ >= 900
  cg::this_cluster().sync();
#else
  __syncthreads();
#endif
}

// The begin of a kernel: its blocks may write to each other's memory from now on.
__device__ void start() {
  meet();
  let_next_kernel_begin();
  wait_for_last_kernel();
}

template <class Body>
__device__ void for_entries(std::int64_t size, Body&& body) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; j < size;
       j += step)
    body(j);
}

// Sums on their way: those of the warps of this block, and those of all blocks. None is used twice.
struct Parts {
  double2 of_warps[wide_warps], of_blocks[most_blocks];
};

// The sums of both values over all threads of all blocks, the same bits in every thread.
__device__ double2 add_up(double first, double second, Parts& parts) {
  const int warp = threadIdx.x / 32, in_warp = threadIdx.x % 32;
  first = warp_sum(first);
  second = warp_sum(second);
  if (in_warp == 0) parts.of_warps[warp] = {first, second};
  __syncthreads();
  if (warp == 0) {
    const double2 mine = parts.of_warps[in_warp];
    const double2 block = {warp_sum(mine.x), warp_sum(mine.y)};
    double2* place = &parts.of_blocks[blockIdx.x];
#if __CUDA_ARCH__ >= 900
    if (in_warp < gridDim.x) *cg::this_cluster().map_shared_rank(place, in_warp) = block;
#else
    if (in_warp == 0) *place = block;
#endif
  }
  meet();
  double2 total = {0, 0};
  for (unsigned block = 0; block < gridDim.x; ++block) {
    total.x += parts.of_blocks[block].x;
    total.y += parts.of_blocks[block].y;
  }
  return total;
}

__device__ bool is_first_thread() {
  return blockIdx.x == 0 && threadIdx.x == 0;
}

// For the processor: two numbers, and behind them the number of the call.
__device__ void tell(volatile double* told, double first, double second, double call) {
  told[0] = first;
  told[1] = second;
  __threadfence_system();
  told[2] = call;
}

__global__ void __launch_bounds__(threads) diagonal_of(GradientRoom room, double* diagonal) {
  for_entries(room.size, [&](std::int64_t j) { diagonal[j] = room.right[j] * room.product[j]; });
}

__global__ void __launch_bounds__(threads)
    jacobi_of(GradientRoom room, const double* squares, double* jacobi) {
  for_entries(room.size, [&](std::int64_t j) {
    const double diagonal = room.diagonal[j];
    jacobi[j] = fmax(diagonal - room.right[j] * room.right[j] * squares[j], 1e-6 * diagonal);
  });
}

__global__ void __launch_bounds__(threads) divide(IterationRoom room) {
  let_next_kernel_begin();
  wait_for_last_kernel();
  for_entries(room.columns,
              [&](std::int64_t j) { room.b[j] = room.column_weights[j] / room.sums[j]; });
}

__global__ void __launch_bounds__(wide_threads)
    first_direction(GradientRoom room, double* told, double call) {
  __shared__ Parts parts;
  start();
  double rho = 0, norm = 0;
  for_entries(room.size, [&](std::int64_t j) {
    const double residual = room.residual[j], z = residual / room.jacobi[j];
    room.direction[j] = z;
    room.scaled[j] = room.right[j] * z;
    rho += residual * z;
    norm += fabs(residual);
  });
  const double2 sums = add_up(rho, norm, parts);
  if (!is_first_thread()) return;
  room.numbers[0] = sums.x;
  room.numbers[1] = sums.y <= room.enough;
  tell(told, 0, sums.y, call);
}

__global__ void __launch_bounds__(wide_threads)
    next_direction(GradientRoom room, double* told, double call) {
  __shared__ Parts first, second;
  start();
  if (room.numbers[1] != 0) return;
  double curvature = 0;
  for_entries(room.size, [&](std::int64_t j) {
    const double d = room.direction[j];
    const double product = room.diagonal[j] * d - room.right[j] * room.product[j];
    room.product[j] = product;
    curvature += d * product;
  });
  curvature = add_up(curvature, 0, first).x;
  const double before = room.numbers[0], length = curvature > 0 ? before / curvature : 0;
  double rho = 0, norm = 0;
  for_entries(room.size, [&](std::int64_t j) {
    room.x[j] += length * room.direction[j];
    const double residual = room.residual[j] - length * room.product[j];
    room.residual[j] = residual;
    const double z = residual / room.jacobi[j];
    room.z[j] = z;
    rho += residual * z;
    norm += fabs(residual);
  });
  const double2 sums = add_up(rho, norm, second);
  if (is_first_thread()) {  // all have read `numbers` by now
    room.numbers[0] = sums.x;
    room.numbers[1] = !(curvature > 0) || sums.y <= room.enough;
    tell(told, curvature, sums.y, call);
  }
  const double share = sums.x / before;
  for_entries(room.size, [&](std::int64_t j) {
    const double d = room.z[j] + share * room.direction[j];
    room.direction[j] = d;
    room.scaled[j] = room.right[j] * d;
  });
}

__global__ void __launch_bounds__(wide_threads)
    look(IterationRoom room, double* told, double call) {
  __shared__ Parts parts;
  start();
  double error = 0, outside = 0;
  const auto check = [&](double factor) {  // NaN is nowhere
    outside += factor < room.safe && factor * room.safe > 1 ? 0 : 1;
  };
  for_entries(room.columns, [&](std::int64_t j) {
    error += fabs(room.b[j] * room.sums[j] - room.column_weights[j]);
    check(room.b[j]);
  });
  for_entries(room.rows, [&](std::int64_t i) { check(room.a[i] / room.row_weights[i]); });
  const double2 sums = add_up(error, outside, parts);
  if (is_first_thread()) tell(told, sums.x, sums.y, call);
}

unsigned blocks_for(std::int64_t size) {
  constexpr std::int64_t most = 128;
  const std::int64_t blocks = (size + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

}  // namespace

void find_diagonal(const GradientRoom& room, double* diagonal, Stream stream) {
  diagonal_of<<<blocks_for(room.size), threads, 0, stream>>>(room, diagonal);
}

void find_jacobi(const GradientRoom& room, const double* squares, double* jacobi, Stream stream) {
  jacobi_of<<<blocks_for(room.size), threads, 0, stream>>>(room, squares, jacobi);
}

void begin_gradients(const GradientRoom& room, double* told, double call, Stream stream) {
  launch(first_direction, room.clusters, stream, room, told, call);
}

void step_gradients(const GradientRoom& room, double* told, double call, Stream stream) {
  launch(next_direction, room.clusters, stream, room, told, call);
}

void meet_columns(const IterationRoom& room, Stream stream) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = overlapping();
  config.gridDim = blocks_for(room.columns);
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = room.clusters ? 1 : 0;
  cudaLaunchKernelEx(&config, divide, room);
}

void judge(const IterationRoom& room, double* told, double call, Stream stream) {
  launch(look, room.clusters, stream, room, told, call);
}

}  // namespace remblai::cuda
