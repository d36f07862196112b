// Blocks of threads take some rows each, and where rows are few also some columns.
#include "transport/cuda/entries.h"

#include <algorithm>
#include <type_traits>

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

// A number as a sum of two floats, of 48 bits together.
struct Pair {
  float high, low;
  explicit __device__ Pair(double x)
      : high(static_cast<float>(x)), low(static_cast<float>(x - static_cast<double>(high))) {}
};

// a + b, and what rounding took from it: each step is rounded, so that no two are made one.
__device__ float exact_sum(float a, float b, float& lost) {
  const float sum = __fadd_rn(a, b), part = __fsub_rn(sum, a);
  lost += __fadd_rn(__fsub_rn(a, __fsub_rn(sum, part)), __fsub_rn(b, part));
  return sum;
}

// 2^(column - scale entry + shift). The terms may be far larger than their sum: in float alone it
// would lose the digits that a small lambda needs, and doubles cost more than the memory does.
__device__ float exponential(const Pair& column, const Pair& scale, const Pair& shift,
                             float entry) {
  const float product = __fmul_rn(scale.high, entry);
  float lost = column.low + shift.low - fmaf(scale.low, entry, fmaf(scale.high, entry, -product));
  const float sum = exact_sum(exact_sum(column.high, -product, lost), shift.high, lost);
  return exp2f(sum + lost);
}

__device__ double exponential(double column, double scale, double shift, double entry) {
  return exp2(column - scale * entry + shift);
}

// The same for terms that no float holds. It takes as long as a kernel in double.
__device__ float exponential(double column, double scale, double shift, float entry) {
  return exp2f(static_cast<float>(column - scale * static_cast<double>(entry) + shift));
}

// Some rows and some columns of K, and their part of the products and, behind these, of the costs.
// A thread takes 16 bytes of each row at a time. `Number` is what exponents are made of.
template <class T, class Number, bool with_costs>
__global__ void __launch_bounds__(threads)
    make_rows(Tile<T> tile, const double* columns, double scale, const double* shifts,
              const double* x, std::int64_t columns_a_part, double* partial) {
  constexpr int lane = 16 / sizeof(T);
  __shared__ double parts[rows_together][warps], cost_parts[rows_together][warps];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rows_together;
  const std::int64_t begin = blockIdx.y * columns_a_part;
  const std::int64_t end = min(begin + columns_a_part, tile.stride);
  const Number unit(scale);
  double dot[rows_together] = {}, cost[rows_together] = {};
  for (std::int64_t j = begin + threadIdx.x * lane; j < end; j += threads * lane) {
    T entries[rows_together][lane];
#pragma unroll
    for (int r = 0; r < rows_together; ++r)
      if (first + r < tile.rows)
        *reinterpret_cast<int4*>(entries[r]) =
            *reinterpret_cast<const int4*>(tile.entries + (first + r) * tile.stride + j);
    T sums[rows_together] = {};
#pragma unroll
    for (int l = 0; l < lane; ++l) {
      const bool inside = j + l < tile.columns;
      const Number column(inside ? columns[j + l] : 0);
      const T factor = inside ? static_cast<T>(x[j + l]) : T(0);
#pragma unroll
      for (int r = 0; r < rows_together; ++r) {
        if (first + r >= tile.rows) continue;
        const Number shift(shifts[first + r]);
        const T k = inside ? exponential(column, unit, shift, entries[r][l]) : T(0);
        if constexpr (with_costs)
          cost[r] += static_cast<double>(k) * static_cast<double>(entries[r][l]);
        entries[r][l] = k;
        sums[r] += k * factor;
      }
    }
#pragma unroll
    for (int r = 0; r < rows_together; ++r) {
      if (first + r >= tile.rows) continue;
      *reinterpret_cast<int4*>(tile.kernel + (first + r) * tile.stride + j) =
          *reinterpret_cast<const int4*>(entries[r]);
      dot[r] += static_cast<double>(sums[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < rows_together; ++r) {
    const bool mine = threadIdx.x == 0 && first + r < tile.rows;
    const double total = block_sum(dot[r], parts[r]);
    if (mine) partial[blockIdx.y * tile.rows + first + r] = total;
    if constexpr (with_costs) {
      const double costs = block_sum(cost[r], cost_parts[r]);
      if (mine) partial[(gridDim.y + blockIdx.y) * tile.rows + first + r] = costs;
    }
  }
}

__global__ void add_parts(const double* partial, int parts, std::int64_t rows, double* products) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  double total = 0;
  for (int part = 0; part < parts; ++part) total += partial[part * rows + i];
  products[i] = total;
}

// left_i K_ij right_j, in float; K_ij where there are no factors.
__global__ void scale_rows(Tile<double> tile, const double* left, const double* right,
                           Tile<float> to) {
  const std::int64_t i = blockIdx.x;
  const double factor = left ? left[i] : 1;
  for (std::int64_t j = threadIdx.x; j < to.stride; j += blockDim.x)
    to.kernel[i * to.stride + j] =
        j < tile.columns
            ? static_cast<float>(factor * tile.kernel[i * tile.stride + j] * (right ? right[j] : 1))
            : 0.0F;
}

template <class From, class T>
__global__ void narrow_rows(const From* from, double factor, Tile<T> tile) {
  const std::int64_t i = blockIdx.x;
  for (std::int64_t j = threadIdx.x; j < tile.columns; j += blockDim.x)
    tile.entries[i * tile.stride + j] =
        static_cast<T>(factor * static_cast<double>(from[i * tile.columns + j]));
}

// A block without a number of its own has the first one.
template <class From>
__global__ void __launch_bounds__(256)
    extremes_of_parts(const From* from, std::int64_t size, Extremes* parts) {
  __shared__ Extremes found[256];
  const auto entry = [&](std::int64_t e) {
    const auto value = static_cast<double>(from[e]);
    return Extremes{value, value};
  };
  Extremes own = entry(0);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; e < size;
       e += step)
    own = both(own, entry(e));
  found[threadIdx.x] = own;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      found[threadIdx.x] = both(found[threadIdx.x], found[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = found[0];
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
  return 2 * most_parts * rows;
}

template <class T>
void exponentials(const Tile<T>& tile, const Exponents& exponents, const double* x,
                  double* products, double* costs, double* partial, int processors, Stream stream) {
  const std::int64_t groups = (tile.rows + rows_together - 1) / rows_together;
  const std::int64_t parts = std::clamp<std::int64_t>(
      8 * processors / groups, 1, std::clamp<std::int64_t>(tile.stride / 8192, 1, most_parts));
  constexpr std::int64_t round = threads * 16 / sizeof(T);
  const std::int64_t columns_a_part = (tile.stride + parts * round - 1) / (parts * round) * round;
  const auto run = [&](auto kernel) {
    kernel<<<dim3(grid(groups), grid(parts)), threads, 0, stream>>>(
        tile, exponents.columns, exponents.scale, exponents.rows, x, columns_a_part, partial);
  };
  using Short = std::conditional_t<sizeof(T) == sizeof(double), double, Pair>;
  // Beyond it two floats are not enough for the digits of a term, and far beyond one is infinite.
  constexpr double far = 1e12;
  if (sizeof(T) < sizeof(double) && !(exponents.largest < far))
    costs ? run(make_rows<T, double, true>) : run(make_rows<T, double, false>);
  else
    costs ? run(make_rows<T, Short, true>) : run(make_rows<T, Short, false>);
  const auto add = [&](const double* from, double* to) {
    add_parts<<<grid((tile.rows + 255) / 256), 256, 0, stream>>>(from, static_cast<int>(parts),
                                                                 tile.rows, to);
  };
  add(partial, products);
  if (costs) add(partial + parts * tile.rows, costs);
}

void round(const Tile<double>& tile, const double* left, const double* right, const Tile<float>& to,
           Stream stream) {
  scale_rows<<<grid(tile.rows), threads, 0, stream>>>(tile, left, right, to);
}

template <class From, class T>
void narrow(const From* from, double factor, const Tile<T>& tile, Stream stream) {
  narrow_rows<<<grid(tile.rows), 256, 0, stream>>>(from, factor, tile);
}

template <class From>
void find_extremes(const From* from, std::int64_t size, Extremes* parts, Stream stream) {
  extremes_of_parts<<<extreme_parts, 256, 0, stream>>>(from, size, parts);
}

template <class T>
void widen(const Tile<T>& tile, double* to, Stream stream) {
  widen_rows<T><<<grid(tile.rows), 256, 0, stream>>>(tile, to);
}

void split(const double* from, double factor, std::int64_t rows, std::int64_t k, Side side,
           float* to, Stream stream) {
  split_rows<<<1024, 256, 0, stream>>>(from, factor, rows, k, side, to);
}

#define REMBLAI_FOR(T)                                                                             \
  template void find_shifts<T>(const Tile<T>&, const double*, double, double*, Stream);            \
  template void exponentials<T>(const Tile<T>&, const Exponents&, const double*, double*, double*, \
                                double*, int, Stream);                                             \
  template void narrow(const double*, double, const Tile<T>&, Stream);                             \
  template void narrow(const float*, double, const Tile<T>&, Stream);                              \
  template void find_extremes(const T*, std::int64_t, Extremes*, Stream);                          \
  template void widen<T>(const Tile<T>&, double*, Stream);
REMBLAI_FOR(float)
REMBLAI_FOR(double)

}  // namespace remblai::cuda
