// Each step of conjugate gradients reads its vectors once. Sums over blocks of threads are added up
// in the order of the blocks by the last one that is through, so they have the same bits every
// time.
#include "transport/cuda/vectors.h"

#include "transport/cuda/block_sum.cuh"

namespace remblai::cuda {
namespace {

constexpr int most_blocks = 128;

unsigned blocks_for(std::int64_t size) {
  const std::int64_t blocks = (size + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks);
}

template <class Body>
__device__ void for_entries(std::int64_t size, Body&& body) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; j < size;
       j += step)
    body(j);
}

// numbers = the sums of both values over all threads of all blocks.
__device__ void add_up(double first, double second, const GradientRoom& room) {
  __shared__ double parts[2][warps];
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
  if (!last || threadIdx.x >= 64) return;
  __threadfence();
  const unsigned which = threadIdx.x / 32;
  double total = 0;
  for (unsigned block = threadIdx.x % 32; block < gridDim.x; block += 32)
    total += __ldcg(room.partial + 2 * block + which);
  total = warp_sum(total);
  if (threadIdx.x % 32 == 0) room.numbers[which] = total;
  if (threadIdx.x == 0) *room.ticket = 0;
}

__global__ void __launch_bounds__(threads)
    jacobi_of(GradientRoom room, const double* squares, double* jacobi) {
  for_entries(room.size, [&](std::int64_t j) {
    const double diagonal = room.diagonal[j];
    jacobi[j] = fmax(diagonal - room.right[j] * room.right[j] * squares[j], 1e-6 * diagonal);
  });
}

__global__ void __launch_bounds__(threads) advance(GradientRoom room, double length, bool begin) {
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
  add_up(rho, norm, room);
}

__global__ void __launch_bounds__(threads) curvature_of(GradientRoom room) {
  double curvature = 0;
  for_entries(room.size, [&](std::int64_t j) {
    const double d = room.direction[j];
    const double product = room.diagonal[j] * d - room.right[j] * room.product[j];
    room.product[j] = product;
    curvature += d * product;
  });
  add_up(curvature, 0, room);
}

__global__ void __launch_bounds__(threads) turn(GradientRoom room, double share) {
  for_entries(room.size, [&](std::int64_t j) {
    const double d = room.z[j] + share * room.direction[j];
    room.direction[j] = d;
    room.scaled[j] = room.right[j] * d;
  });
}

}  // namespace

std::int64_t gradient_partials() {
  return 2 * most_blocks;
}

void find_jacobi(const GradientRoom& room, const double* squares, double* jacobi, Stream stream) {
  jacobi_of<<<blocks_for(room.size), threads, 0, stream>>>(room, squares, jacobi);
}

void begin_gradients(const GradientRoom& room, Stream stream) {
  advance<<<blocks_for(room.size), threads, 0, stream>>>(room, 0, true);
}

void find_curvature(const GradientRoom& room, Stream stream) {
  curvature_of<<<blocks_for(room.size), threads, 0, stream>>>(room);
}

void advance_gradients(const GradientRoom& room, double length, Stream stream) {
  advance<<<blocks_for(room.size), threads, 0, stream>>>(room, length, false);
}

void turn_gradients(const GradientRoom& room, double share, Stream stream) {
  turn<<<blocks_for(room.size), threads, 0, stream>>>(room, share);
}

}  // namespace remblai::cuda
