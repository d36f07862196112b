// Sums over the threads of a block.
#pragma once

namespace remblai::cuda {

constexpr int threads = 512;
constexpr int warps = threads / 32;

template <class T>
__device__ T warp_sum(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  return value;
}

// The sum over the block, the same bits in every thread. `parts` has one number for each warp; two
// of them in turn make one barrier enough.
template <class T>
__device__ double block_sum(T value, double* parts) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = static_cast<double>(value);
  __syncthreads();
  double total = parts[threadIdx.x % warps];
  for (int step = warps / 2; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffff, total, step);
  return total;
}

}  // namespace remblai::cuda
