// Blocks of threads take some rows each, and where rows are few also some columns.
#include "transport/cuda/entries.h"

#include <algorithm>

#include "transport/cuda/block_sum.cuh"

namespace remblai::cuda {
namespace {

constexpr int rows_together = 4;  // that share what is read of a column
constexpr int most_parts = 16;    // of a row, where there are few rows

template <class T>
__global__ void __launch_bounds__(threads)
    top_of_rows(Tile<T> tile, const double* columns, double scale, double* shifts) {
  __shared__ double tops[warps];
  const T* entries = tile.entries + blockIdx.x * tile.stride;
  double top = -INFINITY;
  for (std::int64_t j = threadIdx.x; j < tile.columns; j += threads)
    top = fmax(top, columns[j] - scale * static_cast<double>(entries[j]));
  for (int step = 16; step > 0; step /= 2) top = fmax(top, __shfl_xor_sync(0xffffffff, top, step));
  if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
  __syncthreads();
  for (int w = 0; w < warps; ++w) top = fmax(top, tops[w]);
  if (threadIdx.x == 0) shifts[blockIdx.x] = -top;
}

// Some rows and some columns of K, and their part of the products.
template <class T>
__global__ void __launch_bounds__(threads)
    make_rows(Tile<T> tile, const double* columns, double scale, const double* shifts,
              const double* x, std::int64_t columns_a_part, double* partial) {
  __shared__ double parts[rows_together][warps];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rows_together;
  const std::int64_t begin = blockIdx.y * columns_a_part;
  const std::int64_t end = min(begin + columns_a_part, tile.stride);
  double dot[rows_together] = {}, shift[rows_together];
#pragma unroll
  for (int r = 0; r < rows_together; ++r)
    shift[r] = first + r < tile.rows ? shifts[first + r] : 0;
  for (std::int64_t j = begin + threadIdx.x; j < end; j += threads) {
    const bool inside = j < tile.columns;
    const double column = inside ? columns[j] : 0, factor = inside ? x[j] : 0;
#pragma unroll
    for (int r = 0; r < rows_together; ++r) {
      if (first + r >= tile.rows) continue;
      const std::int64_t place = (first + r) * tile.stride + j;
      T value = 0;
      if (inside) {
        // In float the exponent would lose the digits that a small lambda needs.
        const double exponent = column - scale * static_cast<double>(tile.entries[place]) + shift[r];
        if constexpr (sizeof(T) == sizeof(double))
          value = exp2(exponent);
        else
          value = exp2f(static_cast<float>(exponent));
      }
      tile.kernel[place] = value;
      dot[r] += static_cast<double>(value) * factor;
    }
  }
#pragma unroll
  for (int r = 0; r < rows_together; ++r) {
    const double total = block_sum(dot[r], parts[r]);
    if (threadIdx.x == 0 && first + r < tile.rows)
      partial[blockIdx.y * tile.rows + first + r] = total;
  }
}

__global__ void add_parts(const double* partial, int parts, std::int64_t rows, double* products) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  double total = 0;
  for (int part = 0; part < parts; ++part) total += partial[part * rows + i];
  products[i] = total;
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

// What tensor cores keep of a float, rounded to nearest.
__device__ float eleven_bits(float x) {
  return __uint_as_float((__float_as_uint(x) + 0x1000U) & 0xffffe000U);
}

__global__ void split_rows(const double* from, double factor, std::int64_t rows, std::int64_t k,
                           Side side, float* to) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
       e < rows * k; e += step) {
    const double x = factor * from[e];
    const float high = eleven_bits(static_cast<float>(x));
    const float low = eleven_bits(static_cast<float>(x - static_cast<double>(high)));
    float* row = to + e / k * 3 * k + e % k;
    row[0] = high;
    row[k] = side == Side::left ? low : high;
    row[2 * k] = side == Side::left ? high : low;
  }
}

unsigned grid(std::int64_t count) {
  return static_cast<unsigned>(count);
}

}  // namespace

template <class T>
void find_shifts(const Tile<T>& tile, const double* columns, double scale, double* shifts,
                 Stream stream) {
  top_of_rows<T><<<grid(tile.rows), threads, 0, stream>>>(tile, columns, scale, shifts);
}

std::int64_t partial_products(std::int64_t rows) {
  return most_parts * rows;
}

template <class T>
void exponentials(const Tile<T>& tile, const double* columns, double scale, const double* shifts,
                  const double* x, double* products, double* partial, int processors,
                  Stream stream) {
  const std::int64_t groups = (tile.rows + rows_together - 1) / rows_together;
  const std::int64_t parts =
      std::clamp<std::int64_t>(8 * processors / groups, 1,
                               std::clamp<std::int64_t>(tile.stride / threads, 1, most_parts));
  const std::int64_t columns_a_part = (tile.stride + parts - 1) / parts;
  make_rows<T><<<dim3(grid(groups), grid(parts)), threads, 0, stream>>>(
      tile, columns, scale, shifts, x, columns_a_part, partial);
  add_parts<<<grid((tile.rows + 255) / 256), 256, 0, stream>>>(partial, static_cast<int>(parts),
                                                               tile.rows, products);
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

void split(const double* from, double factor, std::int64_t rows, std::int64_t k, Side side,
           float* to, Stream stream) {
  split_rows<<<1024, 256, 0, stream>>>(from, factor, rows, k, side, to);
}

#define REMBLAI_FOR(T)                                                                         \
  template void find_shifts<T>(const Tile<T>&, const double*, double, double*, Stream);        \
  template void exponentials<T>(const Tile<T>&, const double*, double, const double*,          \
                                const double*, double*, double*, int, Stream);                 \
  template void row_costs<T>(const Tile<T>&, double*, Stream);                                 \
  template void narrow<T>(const double*, double, const Tile<T>&, Stream);                      \
  template void widen<T>(const Tile<T>&, double*, Stream);
REMBLAI_FOR(float)
REMBLAI_FOR(double)

}  // namespace remblai::cuda
