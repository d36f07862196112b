// One block of threads a row.
#include "transport/cuda/entries.h"

#include "transport/cuda/block_sum.cuh"

namespace remblai::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(threads)
    make_rows(Tile<T> tile, const double* columns, double scale, double* shifts, bool find_top) {
  const std::int64_t i = blockIdx.x;
  const T* entries = tile.entries + i * tile.stride;
  T* row = tile.kernel + i * tile.stride;
  double shift = find_top ? 0 : shifts[i];
  if (find_top) {
    __shared__ double tops[warps];
    double top = -INFINITY;
    for (std::int64_t j = threadIdx.x; j < tile.columns; j += threads)
      top = fmax(top, columns[j] - scale * static_cast<double>(entries[j]));
    for (int step = 16; step > 0; step /= 2)
      top = fmax(top, __shfl_xor_sync(0xffffffff, top, step));
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
    __syncthreads();
    for (int w = 0; w < warps; ++w) top = fmax(top, tops[w]);
    shift = -top;
    if (threadIdx.x == 0) shifts[i] = shift;
  }
  for (std::int64_t j = threadIdx.x; j < tile.stride; j += threads) {
    T value = 0;
    if (j < tile.columns) {
      // In float the exponent would lose the digits that a small lambda needs.
      const double exponent = columns[j] - scale * static_cast<double>(entries[j]) + shift;
      if constexpr (sizeof(T) == sizeof(double))
        value = exp2(exponent);
      else
        value = exp2f(static_cast<float>(exponent));
    }
    row[j] = value;
  }
}

template <class T>
__global__ void __launch_bounds__(threads) cost_of_rows(Tile<T> tile, double* out) {
  __shared__ double parts[warps];
  const std::int64_t i = blockIdx.x;
  double total = 0;
  for (std::int64_t j = threadIdx.x; j < tile.columns; j += threads)
    total += static_cast<double>(tile.kernel[i * tile.stride + j]) *
             static_cast<double>(tile.entries[i * tile.stride + j]);
  total = block_sum(total, parts);
  if (threadIdx.x == 0) out[i] = total;
}

template <class T>
__global__ void narrow_rows(const double* from, double factor, Tile<T> tile) {
  const std::int64_t i = blockIdx.x;
  for (std::int64_t j = threadIdx.x; j < tile.columns; j += blockDim.x)
    tile.entries[i * tile.stride + j] = static_cast<T>(factor * from[i * tile.columns + j]);
}

template <class T>
__global__ void widen_rows(Tile<T> tile, double* to) {
  const std::int64_t i = blockIdx.x;
  for (std::int64_t j = threadIdx.x; j < tile.columns; j += blockDim.x)
    to[i * tile.columns + j] = static_cast<double>(tile.kernel[i * tile.stride + j]);
}

__global__ void round_all(const double* from, double factor, float* to, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += step)
    to[i] = static_cast<float>(factor * from[i]);
}

unsigned grid(std::int64_t count) {
  return static_cast<unsigned>(count);
}

}  // namespace

template <class T>
void exponentials(const Tile<T>& tile, const double* columns, double scale, double* shifts,
                  bool find_top, Stream stream) {
  make_rows<T><<<grid(tile.rows), threads, 0, stream>>>(tile, columns, scale, shifts, find_top);
}

template <class T>
void row_costs(const Tile<T>& tile, double* out, Stream stream) {
  cost_of_rows<T><<<grid(tile.rows), threads, 0, stream>>>(tile, out);
}

template <class T>
void narrow(const double* from, double factor, const Tile<T>& tile, Stream stream) {
  narrow_rows<T><<<grid(tile.rows), 256, 0, stream>>>(from, factor, tile);
}

template <class T>
void widen(const Tile<T>& tile, double* to, Stream stream) {
  widen_rows<T><<<grid(tile.rows), 256, 0, stream>>>(tile, to);
}

void to_float(const double* from, double factor, float* to, std::int64_t count, Stream stream) {
  round_all<<<1024, 256, 0, stream>>>(from, factor, to, count);
}

#define REMBLAI_FOR(T)                                                                         \
  template void exponentials<T>(const Tile<T>&, const double*, double, double*, bool, Stream); \
  template void row_costs<T>(const Tile<T>&, double*, Stream);                                 \
  template void narrow<T>(const double*, double, const Tile<T>&, Stream);                      \
  template void widen<T>(const Tile<T>&, double*, Stream);
REMBLAI_FOR(float)
REMBLAI_FOR(double)

}  // namespace remblai::cuda
