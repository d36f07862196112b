// Sums of columns from those of groups of rows, and the two readings of rows that are too wide to
// be kept between product and sum.
#include <algorithm>

#include "transport/cuda/block_sum.cuh"
#include "transport/cuda/sweep_parts.cuh"

namespace remblai::cuda {
namespace {

// Few threads, so that they find room beside a sweep that has begun already.
constexpr int finish_columns = 32, finish_slices = 4;

// The sums of the columns from those of the groups, which a few threads share, and what the rule
// keeps of each row.
template <class Sum>
__global__ void __launch_bounds__(finish_columns* finish_slices)
    finish_sums(const Sum* partial, int groups, std::int64_t stride, std::int64_t columns,
                double* sums, bool add, RowWork work, const double* products, std::int64_t rows) {
  __shared__ double slices[finish_slices][finish_columns];
  let_next_kernel_begin();
  wait_for_last_kernel();
  const int slice = threadIdx.x / finish_columns, place = threadIdx.x % finish_columns;
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * finish_columns + place;
  double part = 0;
  if (j < columns)
#pragma unroll 8
    for (int g = slice; g < groups; g += finish_slices)
      part += static_cast<double>(partial[g * stride + j]);
  slices[slice][place] = part;
  __syncthreads();
  if (slice == 0 && j < columns) {
    double total = add ? sums[j] : 0;
    for (int s = 0; s < finish_slices; ++s) total += slices[s][place];
    sums[j] = total;
  }
  if (slice != 1 || j >= rows) return;
  if (work.kind == RowWork::keep) work.out[j] = products[j];
  if (keeps_factors(work))
    work.out[j] =
        finish_row<double>(work, weight_of_row(work, j), shift_of_row(work, j), products[j]);
}

// The two readings of rows that are too wide: a block a row, then a thread some columns.
template <class T>
__global__ void __launch_bounds__(threads)
    multiply_rows(Tile<T> tile, const double* x, double* products) {
  __shared__ double parts[warps];
  const std::int64_t i = blockIdx.x;
  const T* row = tile.kernel + i * tile.stride;
  double dot = 0;
  for (std::int64_t j = threadIdx.x; j < tile.columns; j += threads)
    dot += static_cast<double>(row[j]) * x[j];
  dot = block_sum(dot, parts);
  if (threadIdx.x == 0) products[i] = dot;
}

// y of every row, and what the rule keeps.
__global__ void finish_rows(RowWork work, const double* products, std::int64_t rows, double* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  y[i] = finish_row<double>(work, weight_of_row(work, i), shift_of_row(work, i), products[i]);
  if (keeps_factors(work)) work.out[i] = y[i];
  if (work.kind == RowWork::keep) work.out[i] = products[i];
}

constexpr int adding_threads = 256;

template <class T>
__global__ void __launch_bounds__(adding_threads)
    add_rows(Tile<T> tile, const double* y, bool squares, std::int64_t rows_a_part,
             double* partial) {
  const std::int64_t j =
      (static_cast<std::int64_t>(blockIdx.x) * adding_threads + threadIdx.x) * lane<T>;
  if (j >= tile.stride) return;
  const std::int64_t last = min((blockIdx.y + 1) * rows_a_part, tile.rows);
  double total[lane<T>] = {};
  for (std::int64_t first = blockIdx.y * rows_a_part; first < last; first += rows_in_float) {
    const std::int64_t end = min(first + rows_in_float, last);
    T sums[lane<T>] = {};
#pragma unroll 8
    for (std::int64_t i = first; i < end; ++i) {
      const T factor = static_cast<T>(y[i]);
      T k[lane<T>];
      *reinterpret_cast<int4*>(k) =
          __ldcs(reinterpret_cast<const int4*>(tile.kernel + i * tile.stride + j));
      for (int l = 0; l < lane<T>; ++l) sums[l] += factor * (squares ? k[l] * k[l] : k[l]);
    }
    for (int l = 0; l < lane<T>; ++l) total[l] += static_cast<double>(sums[l]);
  }
  for (int l = 0; l < lane<T>; ++l) partial[blockIdx.y * tile.stride + j + l] = total[l];
}

}  // namespace

template <class T>
void finish(const Call<T>& call, std::int64_t groups, std::int64_t rows, bool narrow) {
  const std::int64_t count = std::max(call.tile.columns, rows);
  cudaLaunchConfig_t launch = {};
  cudaLaunchAttribute attribute = overlapping();
  launch.gridDim = grid((count + finish_columns - 1) / finish_columns);
  launch.blockDim = finish_columns * finish_slices;
  launch.stream = call.stream;
  launch.attrs = &attribute;
  launch.numAttrs = call.room.clusters ? 1 : 0;
  const auto run = [&](auto kernel, const auto* partial) {
    cudaLaunchKernelEx(&launch, kernel, partial, static_cast<int>(groups), call.tile.stride,
                       call.tile.columns, call.sums, call.add, call.work,
                       static_cast<const double*>(call.room.products), rows);
  };
  if (narrow)
    run(finish_sums<float>, reinterpret_cast<const float*>(call.room.partial));
  else
    run(finish_sums<double>, static_cast<const double*>(call.room.partial));
}

template <class T>
void multiply(const Call<T>& call) {
  multiply_rows<T>
      <<<grid(call.tile.rows), threads, 0, call.stream>>>(call.tile, call.x, call.room.products);
}

template <class T>
void run_second_pass(const Call<T>& call) {
  const Tile<T>& tile = call.tile;
  const SweepRoom& room = call.room;
  finish_rows<<<grid((tile.rows + 255) / 256), 256, 0, call.stream>>>(call.work, room.products,
                                                                      tile.rows, room.factors);
  if (call.work.kind == RowWork::keep) return;
  const std::int64_t width = adding_threads * lane<T>, wide = (tile.stride + width - 1) / width;
  const std::int64_t busy = (8 * room.processors + wide - 1) / wide;
  const std::int64_t parts = std::clamp<std::int64_t>(
      busy, 1, std::min<std::int64_t>(room.processors, (tile.rows + 31) / 32));
  const std::int64_t rows_a_part = (tile.rows + parts - 1) / parts;
  add_rows<T><<<dim3(grid(wide), grid(parts)), adding_threads, 0, call.stream>>>(
      tile, room.factors, call.work.squares, rows_a_part, room.partial);
  finish(call, parts, 0, false);
}

#define REMBLAI_FOR(T)                                                       \
  template void finish<T>(const Call<T>&, std::int64_t, std::int64_t, bool); \
  template void multiply<T>(const Call<T>&);                                 \
  template void run_second_pass<T>(const Call<T>&);
REMBLAI_FOR(float)
REMBLAI_FOR(double)
#undef REMBLAI_FOR

}  // namespace remblai::cuda
