// Each step of conjugate gradients reads its vectors once. Sums over blocks of threads are added up
// in the order of the blocks by the last one that is through, so they have the same bits every
// time.
#include "transport/cuda/vectors.h"

#include "transport/cuda/block_sum.cuh"
#include "transport/cuda/overlap.cuh"

namespace remblai::cuda {
namespace {

constexpr int most_blocks = 128;

unsigned blocks_for(std::int64_t size) {
  const std::int64_t blocks = (size + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks);
}

template <class Room, class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, const Room& room, Stream stream,
            Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = overlapping();
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = room.overlap ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, room, arguments...);
}

template <class Body>
__device__ void for_entries(std::int64_t size, Body&& body) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; j < size;
       j += step)
    body(j);
}

// The sums of both values over all threads of all blocks, in the first thread of the block that is
// the last to have its own. True in that thread.
template <class Room>
__device__ bool add_up(double& first, double& second, const Room& room) {
  __shared__ double parts[2][warps], totals[2];
  __shared__ bool last;
  first = block_sum(first, parts[0]);
  second = block_sum(second, parts[1]);
  if (threadIdx.x == 0) {
    room.partial[2 * blockIdx.x] = first;
    room.partial[2 * blockIdx.x + 1] = second;
    __threadfence();
    last = atomicAdd(room.ticket, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  const unsigned which = threadIdx.x / 32;
  if (which < 2) {
    double total = 0;
    for (unsigned block = threadIdx.x % 32; block < gridDim.x; block += 32)
      total += __ldcg(room.partial + 2 * block + which);
    total = warp_sum(total);
    if (threadIdx.x % 32 == 0) totals[which] = total;
  }
  __syncthreads();
  if (threadIdx.x > 0) return false;
  *room.ticket = 0;
  first = totals[0];
  second = totals[1];
  return true;
}

// Three numbers for the processor, and behind them the number of the call.
__device__ void tell(volatile double* told, double first, double second, double third,
                     double call) {
  told[0] = first;
  told[1] = second;
  told[2] = third;
  __threadfence_system();
  told[3] = call;
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

__global__ void __launch_bounds__(threads) multiply_direction(GradientRoom room) {
  let_next_kernel_begin();
  wait_for_last_kernel();
  double curvature = 0, none = 0;
  for_entries(room.size, [&](std::int64_t j) {
    const double d = room.direction[j];
    const double product = room.diagonal[j] * d - room.right[j] * room.product[j];
    room.product[j] = product;
    curvature += d * product;
  });
  if (add_up(curvature, none, room)) room.numbers[0] = curvature;
}

__global__ void __launch_bounds__(threads)
    advance(GradientRoom room, double before, bool begin, double call) {
  let_next_kernel_begin();
  wait_for_last_kernel();
  const double curvature = begin ? 0 : room.numbers[0];
  const double length = curvature > 0 ? before / curvature : 0;
  double rho = 0, norm = 0;
  for_entries(room.size, [&](std::int64_t j) {
    double residual = room.residual[j];
    if (!begin) {
      room.x[j] += length * room.direction[j];
      residual -= length * room.product[j];
      room.residual[j] = residual;
    }
    const double z = residual / room.jacobi[j];
    room.z[j] = z;
    if (begin) {
      room.direction[j] = z;
      room.scaled[j] = room.right[j] * z;
    }
    rho += residual * z;
    norm += fabs(residual);
  });
  if (!add_up(rho, norm, room)) return;
  room.numbers[1] = rho;
  tell(room.told, curvature, rho, norm, call);
}

__global__ void __launch_bounds__(threads) turn(GradientRoom room, double before) {
  let_next_kernel_begin();
  wait_for_last_kernel();
  const double share = room.numbers[1] / before;
  for_entries(room.size, [&](std::int64_t j) {
    const double d = room.z[j] + share * room.direction[j];
    room.direction[j] = d;
    room.scaled[j] = room.right[j] * d;
  });
}

__global__ void __launch_bounds__(threads) divide(IterationRoom room) {
  let_next_kernel_begin();
  wait_for_last_kernel();
  for_entries(room.columns,
              [&](std::int64_t j) { room.b[j] = room.column_weights[j] / room.sums[j]; });
}

__global__ void __launch_bounds__(threads) look(IterationRoom room, double* told, double call) {
  let_next_kernel_begin();
  wait_for_last_kernel();
  double error = 0, outside = 0;
  const auto check = [&](double factor) {  // NaN is nowhere
    outside += factor < room.safe && factor * room.safe > 1 ? 0 : 1;
  };
  for_entries(room.columns, [&](std::int64_t j) {
    error += fabs(room.b[j] * room.sums[j] - room.column_weights[j]);
    check(room.b[j]);
  });
  for_entries(room.rows, [&](std::int64_t i) { check(room.a[i] / room.row_weights[i]); });
  if (add_up(error, outside, room)) tell(told, error, outside, 0, call);
}

}  // namespace

std::int64_t gradient_partials() {
  return 2 * most_blocks;
}

void find_diagonal(const GradientRoom& room, double* diagonal, Stream stream) {
  diagonal_of<<<blocks_for(room.size), threads, 0, stream>>>(room, diagonal);
}

void find_jacobi(const GradientRoom& room, const double* squares, double* jacobi, Stream stream) {
  jacobi_of<<<blocks_for(room.size), threads, 0, stream>>>(room, squares, jacobi);
}

void begin_gradients(const GradientRoom& room, double call, Stream stream) {
  launch(advance, blocks_for(room.size), room, stream, 0.0, true, call);
}

void step_gradients(const GradientRoom& room, double before, double call, Stream stream) {
  const unsigned blocks = blocks_for(room.size);
  launch(multiply_direction, blocks, room, stream);
  launch(advance, blocks, room, stream, before, false, call);
  launch(turn, blocks, room, stream, before);
}

void meet_columns(const IterationRoom& room, Stream stream) {
  launch(divide, blocks_for(room.columns), room, stream);
}

void judge(const IterationRoom& room, double* told, double call, Stream stream) {
  const std::int64_t most = room.columns > room.rows ? room.columns : room.rows;
  launch(look, blocks_for(most), room, stream, told, call);
}

}  // namespace remblai::cuda
