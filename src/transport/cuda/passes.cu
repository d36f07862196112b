// Sweeps in one reading of the matrix: a block of threads keeps its part of a row in shared memory
// between the product and the sums of the columns, while the rows behind it are on their way.
#include "transport/cuda/passes.h"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <algorithm>

namespace remblai::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr int threads = 512;
constexpr int warps = threads / 32;
constexpr int most_blocks_in_cluster = 8;
constexpr int rows_in_float = 128;  // that are added up in float before their sum goes to a double

__device__ double finish_row(const RowWork& work, std::int64_t i, double d, bool writes) {
  double y = 0;
  switch (work.kind) {
    case RowWork::weigh:
      return work.weights[i] * d;
    case RowWork::given:
      return work.weights[i];
    case RowWork::keep:
      if (writes) work.out[i] = d;
      return 0;
    case RowWork::meet_exact:
      y = work.weights[i] / d;
      break;
    case RowWork::meet_relaxed:
      y = exp2(fmax(-1000.0, log2(work.weights[i]) - work.power * log2(d) -
                                 (1 - work.power) * work.shifts[i]));
      break;
  }
  if (writes) work.out[i] = y;
  return y;
}

__device__ double warp_sum(double value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  return value;
}

// The sum over the block, the same bits in every thread. `parts` has one number for each warp; two of
// them in turn make one barrier enough.
template <int count>
__device__ double block_sum(double value, double* parts) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  double total = 0;
  for (int w = 0; w < count; ++w) total += parts[w];
  return total;
}

// The 16 bytes of a thread at a time.
template <class T>
constexpr int lane = 16 / sizeof(T);

// Rows are dealt to clusters in turn, and in a cluster each block has `threads * pieces * lane`
// columns. A thread copies, multiplies and adds up the same columns of every row, so that copies need
// no barrier. Row t is multiplied while row t - 1, whose product has come from the other blocks by
// then, is added to the columns.
template <class T, int pieces, int stages, bool clustered>
__global__ void __launch_bounds__(threads, 1)
    one_pass(Tile<T> tile, const double* x, RowWork work, double* partial) {
  constexpr int width = pieces * lane<T>;
  extern __shared__ __align__(16) unsigned char memory[];
  T* ring = reinterpret_cast<T*>(memory);
  __shared__ double parts[2][warps];
  __shared__ double from_blocks[4][most_blocks_in_cluster];
  unsigned rank = 0, size = 1;
  if constexpr (clustered) {
#if __CUDA_ARCH__ >= 900
    rank = cg::this_cluster().block_rank();
    size = cg::this_cluster().num_blocks();
#endif
  }
  const std::int64_t group = blockIdx.x / size, groups = gridDim.x / size;
  const std::int64_t first_column = static_cast<std::int64_t>(rank) * threads * width;
  const auto column = [&](int piece) {
    return first_column + (static_cast<std::int64_t>(piece) * threads + threadIdx.x) * lane<T>;
  };
  const auto place = [&](int stage, int piece) {
    return ring + ((stage * pieces + piece) * threads + threadIdx.x) * lane<T>;
  };

  T factors[width], sums[width];
  for (int p = 0; p < pieces; ++p)
    for (int l = 0; l < lane<T>; ++l) {
      const std::int64_t j = column(p) + l;
      factors[p * lane<T> + l] = j < tile.columns ? static_cast<T>(x[j]) : T(0);
      sums[p * lane<T> + l] = 0;
      for (int s = 0; s < stages; ++s) place(s, p)[l] = 0;
    }
  const std::int64_t count = (tile.rows - group + groups - 1) / groups;
  const auto load = [&](std::int64_t t) {
    if (t < count) {
      const T* row = tile.kernel + (group + t * groups) * tile.stride;
      for (int p = 0; p < pieces; ++p)
        if (column(p) < tile.stride)
          __pipeline_memcpy_async(place(static_cast<int>(t % stages), p), row + column(p), 16);
    }
    __pipeline_commit();
  };
  const auto product = [&](std::int64_t t) {
    T dot = 0;
    for (int p = 0; p < pieces; ++p) {
      const T* k = place(static_cast<int>(t % stages), p);
      for (int l = 0; l < lane<T>; ++l) dot += k[l] * factors[p * lane<T> + l];
    }
    return block_sum<warps>(static_cast<double>(dot), parts[t % 2]);
  };
  bool flushed = false;
  const auto flush = [&] {
    for (int p = 0; p < pieces; ++p)
      for (int l = 0; l < lane<T>; ++l) {
        const std::int64_t j = column(p) + l;
        if (j >= tile.stride) continue;
        double& total = partial[group * tile.stride + j];
        total = (flushed ? total : 0) + static_cast<double>(sums[p * lane<T> + l]);
        sums[p * lane<T> + l] = 0;
      }
    flushed = true;
  };
  const auto add = [&](std::int64_t t, double dot) {
    const T y = static_cast<T>(
        finish_row(work, group + t * groups, dot, rank == 0 && threadIdx.x == 0));
    for (int p = 0; p < pieces; ++p) {
      const T* k = place(static_cast<int>(t % stages), p);
      for (int l = 0; l < lane<T>; ++l)
        sums[p * lane<T> + l] += y * (work.squares ? k[l] * k[l] : k[l]);
    }
    if (sizeof(T) < sizeof(double) && (t + 1) % rows_in_float == 0) flush();
  };

  if constexpr (clustered) {
#if __CUDA_ARCH__ >= 900
    auto cluster = cg::this_cluster();
    cluster.sync();  // nobody writes into the memory of a block that has not begun
    for (int t = 0; t < stages - 2; ++t) load(t);
    for (std::int64_t t = 0; t <= count; ++t) {
      double dot = 0;
      if (t < count) {
        load(t + stages - 2);
        __pipeline_wait_prior(stages - 2);
        dot = product(t);
      }
      if (t > 0) cluster.barrier_wait();
      if (t < count) {
        if (threadIdx.x < size)
          *cluster.map_shared_rank(&from_blocks[t % 4][rank], threadIdx.x) = dot;
        cluster.barrier_arrive();
      }
      if (t > 0) {
        double total = 0;
        for (unsigned r = 0; r < size; ++r) total += from_blocks[(t - 1) % 4][r];
        add(t - 1, total);
      }
    }
#endif
  } else {
    for (int t = 0; t < stages - 1; ++t) load(t);
    for (std::int64_t t = 0; t < count; ++t) {
      load(t + stages - 1);
      __pipeline_wait_prior(stages - 1);
      add(t, product(t));
    }
  }
  flush();
}

__global__ void add_partial(const double* partial, std::int64_t groups, std::int64_t stride,
                            std::int64_t columns, double* sums, bool add) {
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (j >= columns) return;
  double total = add ? sums[j] : 0;
  for (std::int64_t g = 0; g < groups; ++g) total += partial[g * stride + j];
  sums[j] = total;
}

// The two readings of rows that are too wide: a block a row, then a thread a column.
template <class T>
__global__ void __launch_bounds__(threads) multiply_rows(Tile<T> tile, const double* x, RowWork work,
                                                         double* y) {
  __shared__ double parts[warps];
  const std::int64_t i = blockIdx.x;
  const T* row = tile.kernel + i * tile.stride;
  double dot = 0;
  if (work.kind != RowWork::given)
    for (std::int64_t j = threadIdx.x; j < tile.columns; j += threads)
      dot += static_cast<double>(row[j]) * x[j];
  dot = block_sum<warps>(dot, parts);
  if (threadIdx.x == 0) y[i] = finish_row(work, i, dot, true);
}

template <class T>
__global__ void __launch_bounds__(threads) add_rows(Tile<T> tile, const double* y, bool squares,
                                                    std::int64_t rows_a_part, double* partial) {
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (j >= tile.stride) return;
  const std::int64_t first = blockIdx.y * rows_a_part;
  const std::int64_t last = min(first + rows_a_part, tile.rows);
  double total = 0;
  for (std::int64_t i = first; i < last; ++i) {
    const double k = tile.kernel[i * tile.stride + j];
    total += y[i] * (squares ? k * k : k);
  }
  partial[blockIdx.y * tile.stride + j] = total;
}

template <class T>
__global__ void __launch_bounds__(threads) make_rows(Tile<T> tile, const double* columns, double scale,
                                                     double* shifts, bool find_top) {
  const std::int64_t i = blockIdx.x;
  const T* entries = tile.entries + i * tile.stride;
  T* row = tile.kernel + i * tile.stride;
  double shift = find_top ? 0 : shifts[i];
  if (find_top) {
    __shared__ double tops[warps];
    double top = -INFINITY;
    for (std::int64_t j = threadIdx.x; j < tile.columns; j += threads)
      top = fmax(top, columns[j] - scale * static_cast<double>(entries[j]));
    for (int step = 16; step > 0; step /= 2) top = fmax(top, __shfl_xor_sync(0xffffffff, top, step));
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
    __syncthreads();
    for (int w = 0; w < warps; ++w) top = fmax(top, tops[w]);
    shift = -top;
    if (threadIdx.x == 0) shifts[i] = shift;
  }
  for (std::int64_t j = threadIdx.x; j < tile.stride; j += threads) {
    T value = 0;
    if (j < tile.columns) {
      // The exponent is made in double: in float it would lose what the scale of small lambdas asks.
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
  total = block_sum<warps>(total, parts);
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

// Blocks that one row is split over, and how: 0 blocks where it is too wide.
template <class T, int pieces, int stages, bool clustered>
void run_one_pass(const Tile<T>& tile, const double* x, const RowWork& work, const SweepRoom& room,
                  int blocks, double* sums, bool add, Stream stream) {
  const auto kernel = one_pass<T, pieces, stages, clustered>;
  const std::size_t shared = static_cast<std::size_t>(stages) * pieces * threads * 16;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  cudaLaunchConfig_t launch = {};
  cudaLaunchAttribute attribute = {};
  launch.blockDim = threads;
  launch.dynamicSmemBytes = shared;
  launch.stream = stream;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  if (clustered) {
    launch.attrs = &attribute;
    launch.numAttrs = 1;
  }
  std::int64_t groups = room.processors;
  if (clustered) {
    int at_once = 0;
    launch.gridDim = static_cast<unsigned>(blocks);
    if (cudaOccupancyMaxActiveClusters(&at_once, kernel, &launch) != cudaSuccess || at_once < 1)
      at_once = room.processors / blocks / 2;
    groups = at_once;
  }
  groups = std::max<std::int64_t>(1, std::min(groups, tile.rows));
  launch.gridDim = grid(groups * blocks);
  cudaLaunchKernelEx(&launch, kernel, tile, x, work, room.partial);
  add_partial<<<grid((tile.columns + 255) / 256), 256, 0, stream>>>(room.partial, groups, tile.stride,
                                                                    tile.columns, sums, add);
}

template <class T>
void run_two_passes(const Tile<T>& tile, const double* x, const RowWork& work, const SweepRoom& room,
                    double* sums, bool add, Stream stream) {
  multiply_rows<T><<<grid(tile.rows), threads, 0, stream>>>(tile, x, work, room.y);
  const std::int64_t parts = std::min<std::int64_t>(room.processors, tile.rows);
  const std::int64_t rows_a_part = (tile.rows + parts - 1) / parts;
  const dim3 blocks(grid((tile.stride + threads - 1) / threads), grid(parts));
  add_rows<T><<<blocks, threads, 0, stream>>>(tile, room.y, work.squares, rows_a_part, room.partial);
  add_partial<<<grid((tile.columns + 255) / 256), 256, 0, stream>>>(room.partial, parts, tile.stride,
                                                                    tile.columns, sums, add);
}

}  // namespace

std::int64_t partial_size(std::int64_t columns, int processors) {
  return (columns + 32) * processors;
}

template <class T>
void sweep(const Tile<T>& tile, const double* x, const RowWork& work, const SweepRoom& room,
           double* sums, bool add, Stream stream) {
  const std::int64_t piece = threads * lane<T>;  // columns that each thread takes 16 bytes of
  const auto one = [&]<int pieces, int stages>() {
    run_one_pass<T, pieces, stages, false>(tile, x, work, room, 1, sums, add, stream);
  };
  if (tile.stride <= 2 * piece) return one.template operator()<2, 8>();
  if (tile.stride <= 4 * piece) return one.template operator()<4, 6>();
  if (tile.stride <= 5 * piece) return one.template operator()<5, 5>();
  if (tile.stride <= 6 * piece) return one.template operator()<6, 4>();
  if (tile.stride <= 8 * piece) return one.template operator()<8, 3>();
  if (room.clusters) {
    const auto split = [&]<int pieces, int stages>(int blocks) {
      run_one_pass<T, pieces, stages, true>(tile, x, work, room, blocks, sums, add, stream);
    };
    for (const int blocks : {2, 4, 8}) {
      if (tile.stride <= blocks * 5 * piece) return split.template operator()<5, 5>(blocks);
      if (tile.stride <= blocks * 6 * piece) return split.template operator()<6, 4>(blocks);
      if (tile.stride <= blocks * 8 * piece) return split.template operator()<8, 3>(blocks);
    }
  }
  run_two_passes(tile, x, work, room, sums, add, stream);
}

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

#define REMBLAI_FOR(T)                                                                              \
  template void sweep<T>(const Tile<T>&, const double*, const RowWork&, const SweepRoom&, double*, \
                         bool, Stream);                                                            \
  template void exponentials<T>(const Tile<T>&, const double*, double, double*, bool, Stream);     \
  template void row_costs<T>(const Tile<T>&, double*, Stream);                                     \
  template void narrow<T>(const double*, double, const Tile<T>&, Stream);                          \
  template void widen<T>(const Tile<T>&, double*, Stream);
REMBLAI_FOR(float)
REMBLAI_FOR(double)

}  // namespace remblai::cuda
