// Sweeps in one reading of the matrix: a block of threads keeps its part of a row in shared memory
// between the product and the sums of the columns, while the rows behind it are on their way.
#include "transport/cuda/sweep.h"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <algorithm>
#include <atomic>

#include "transport/cuda/block_sum.cuh"
#include "transport/cuda/sweep_parts.cuh"

namespace remblai::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr int most_blocks_in_cluster = 8;

// Until all but the last `pending` groups of copies are there. What follows must not be read
// before.
template <int pending>
__device__ void wait_for_copies() {
  __pipeline_wait_prior(pending);
  asm volatile("" ::: "memory");
}

// Rows are dealt to clusters in turn, and in a cluster each block has `threads * pieces * lane`
// columns. A thread copies, multiplies and adds up the same columns of every row, so that copies
// need no barrier: as soon as a piece of a row is added up, a row behind takes its place. In a
// cluster, where that is slower, whole rows are asked for at a time. There row t is multiplied
// while row t - 1, whose product has come from the other blocks by then, is added to the columns.
// Products and sums are made in numbers of the type `Sum`.
template <class T, class Sum, int pieces, int stages, int together, bool clustered>
__global__ void __launch_bounds__(threads, 1)
    one_pass(Tile<T> tile, const double* x, RowWork work, double* partial, double* products) {
  constexpr int width = pieces * lane<T>;
  extern __shared__ __align__(16) unsigned char memory[];
  T* ring = reinterpret_cast<T*>(memory);
  // Partial products of the warps: of all blocks of the cluster, or of the rows taken together.
  __shared__ double parts[3][clustered ? most_blocks_in_cluster * warps : together * warps];
  unsigned rank = 0, size = 1;
  if constexpr (clustered) {
#if __CUDA_ARCH__ >= 900
    rank = cg::this_cluster().block_rank();
    size = cg::this_cluster().num_blocks();
#endif
  }
  const int group = static_cast<int>(blockIdx.x / size),
            groups = static_cast<int>(gridDim.x / size);
  const int first_column = static_cast<int>(rank) * threads * width + threadIdx.x * lane<T>;
  const int columns = static_cast<int>(tile.columns), stride = static_cast<int>(tile.stride);
  const auto column = [&](int piece) { return first_column + piece * threads * lane<T>; };
  const auto place = [&](int stage, int piece) {
    return ring + ((stage * pieces + piece) * threads + threadIdx.x) * lane<T>;
  };

  const int count = static_cast<int>((tile.rows - group + groups - 1) / groups);
  const auto row_of = [&](int t) { return group + static_cast<std::int64_t>(t) * groups; };
  const auto load_piece = [&](int t, int p) {
    if (t < count && column(p) < stride)
      __pipeline_memcpy_async(place(t % stages, p),
                              tile.kernel + row_of(t) * tile.stride + column(p), 16);
  };
  const auto load = [&](int t) {
#pragma unroll
    for (int p = 0; p < pieces; ++p) load_piece(t, p);
    __pipeline_commit();
  };
  // Rows are on their way before anything else is asked for.
  constexpr int ahead = clustered ? stages - 2 : stages;
  wait_for_last_kernel();
  let_next_kernel_begin();
  for (int t = 0; t < ahead; ++t) load(t);
  Sum factors[width], sums[width];
#pragma unroll
  for (int p = 0; p < pieces; ++p)
    for (int l = 0; l < lane<T>; ++l) {
      const int j = column(p) + l;
      factors[p * lane<T> + l] = j < columns ? static_cast<Sum>(x[j]) : Sum(0);
      sums[p * lane<T> + l] = 0;
      if (column(p) >= stride)  // no row has anything for it
        for (int s = 0; s < stages; ++s) place(s, p)[l] = 0;
    }
  // What the rule knows of a row is asked for early: it comes from far away.
  const auto weight_of = [&](int t) { return t < count ? weight_of_row(work, row_of(t)) : 0.0; };
  const auto shift_of = [&](int t) { return t < count ? shift_of_row(work, row_of(t)) : 0.0; };
  const auto product = [&](int t) {
    Sum dot = 0;
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      const T* k = place(t % stages, p);
      for (int l = 0; l < lane<T>; ++l) dot += static_cast<Sum>(k[l]) * factors[p * lane<T> + l];
    }
    return static_cast<double>(warp_sum(dot));
  };
  const int warp = threadIdx.x / 32, in_warp = threadIdx.x % 32;
  bool flushed = false;
  const auto flush = [&] {
#pragma unroll
    for (int p = 0; p < pieces; ++p)
      for (int l = 0; l < lane<T>; ++l) {
        const int j = column(p) + l;
        if (j >= stride) continue;
        double& total = partial[group * tile.stride + j];
        total = (flushed ? total : 0) + static_cast<double>(sums[p * lane<T> + l]);
        sums[p * lane<T> + l] = 0;
      }
    flushed = true;
  };
  const auto add = [&](int t, double dot, double row_weight, double row_shift) {
    if (rank == 0 && threadIdx.x == 0) products[row_of(t)] = dot;
    const Sum y = finish_row<Sum>(work, row_weight, row_shift, dot);
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      T k[lane<T>];
      for (int l = 0; l < lane<T>; ++l) k[l] = place(t % stages, p)[l];
      asm volatile("" ::: "memory");
      if constexpr (!clustered) load_piece(t + stages, p);  // nobody else reads this place
      for (int l = 0; l < lane<T>; ++l)
        sums[p * lane<T> + l] += y * static_cast<Sum>(work.squares ? k[l] * k[l] : k[l]);
    }
    if (sizeof(Sum) < sizeof(double) && (t + 1) % rows_in_float == 0) flush();
  };

  if constexpr (clustered) {
#if __CUDA_ARCH__ >= 900
    auto cluster = cg::this_cluster();
    cluster.sync();                // nobody writes into the memory of a block that has not begun
    double weight = 0, shift = 0;  // of row t - 1
    for (int t = 0; t <= count; ++t) {
      const double next_weight = weight_of(t), next_shift = shift_of(t);
      double dot = 0;
      if (t < count) {
        load(t + stages - 2);
        wait_for_copies<stages - 2>();
        dot = product(t);
      }
      if (t > 0) cluster.barrier_wait();
      if (t < count) {
        if (in_warp < size)
          *cluster.map_shared_rank(&parts[t % 3][rank * warps + warp], in_warp) = dot;
        cluster.barrier_arrive();
      }
      if (t > 0) {
        double total = 0;
        for (unsigned e = in_warp; e < size * warps; e += 32) total += parts[(t - 1) % 3][e];
        add(t - 1, warp_sum(total), weight, shift);
      }
      weight = next_weight;
      shift = next_shift;
    }
#else
    __trap();  // `clusters_work` has said no
#endif
  } else {
    double weight[together], shift[together];
    for (int r = 0; r < together; ++r) {
      weight[r] = weight_of(r);
      shift[r] = shift_of(r);
    }
    for (int t = 0; t < count; t += together) {
      double dot[together];
      wait_for_copies<stages - together>();
#pragma unroll
      for (int r = 0; r < together; ++r) dot[r] = product(t + r);
      double* mine = parts[t / together % 2];
      if (in_warp == 0)
        for (int r = 0; r < together; ++r) mine[r * warps + warp] = dot[r];
      __syncthreads();
#pragma unroll
      for (int r = 0; r < together; ++r) {
        dot[r] = mine[r * warps + in_warp % warps];
        for (int step = warps / 2; step > 0; step /= 2)
          dot[r] += __shfl_xor_sync(0xffffffff, dot[r], step);
      }
#pragma unroll
      for (int r = 0; r < together; ++r) {
        const double next_weight = weight_of(t + r + together),
                     next_shift = shift_of(t + r + together);
        if (t + r < count) add(t + r, dot[r], weight[r], shift[r]);
        weight[r] = next_weight;
        shift[r] = next_shift;
        __pipeline_commit();
      }
    }
  }
  flush();
}

// How many groups of so many blocks each a GPU runs at a time; 0 where it has too little shared
// memory for them.
template <class Function>
int groups_at_once(const Function& kernel, cudaLaunchConfig_t launch, int blocks,
                   const SweepRoom& room) {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess ||
      launch.dynamicSmemBytes + attributes.sharedSizeBytes >
          static_cast<std::size_t>(room.shared_memory))
    return 0;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(launch.dynamicSmemBytes));
  if (blocks == 1) return room.processors;
  int at_once = 0;
  launch.gridDim = static_cast<unsigned>(blocks);
  return cudaOccupancyMaxActiveClusters(&at_once, kernel, &launch) == cudaSuccess ? at_once : 0;
}

// Each row is split over so many blocks. False where the GPU has too little shared memory for it.
template <class T, class Sum, int pieces, int stages, int together, bool clustered>
bool run_one_pass(const Call<T>& call, int blocks) {
  const Tile<T>& tile = call.tile;
  const auto kernel = one_pass<T, Sum, pieces, stages, together, clustered>;
  cudaLaunchConfig_t launch = {};
  cudaLaunchAttribute attributes[2] = {};
  launch.blockDim = threads;
  launch.dynamicSmemBytes = static_cast<std::size_t>(stages) * pieces * threads * 16;
  launch.stream = call.stream;
  launch.attrs = attributes;
  if (clustered) {
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    launch.numAttrs = 1;
  }
  // The answer is the same for every call, and takes about as long as a launch to find.
  constexpr int gpus = 32;
  static std::atomic<int> known[gpus][most_blocks_in_cluster + 1] = {};  // plus 1; 0: not yet
  const bool keeps = call.room.gpu < gpus;
  int groups = keeps ? known[call.room.gpu][blocks].load() - 1 : -1;
  if (groups < 0) {
    groups = groups_at_once(kernel, launch, blocks, call.room);
    if (keeps) known[call.room.gpu][blocks] = groups + 1;
  }
  if (groups == 0) return false;
  if (call.room.clusters) attributes[launch.numAttrs++] = overlapping();
  groups = static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(groups, tile.rows)));
  launch.gridDim = grid(std::int64_t{groups} * blocks);
  cudaLaunchKernelEx(&launch, kernel, tile, call.x, call.work, call.room.partial,
                     call.room.products);
  finish(call, groups, tile.rows);
  return true;
}

}  // namespace

bool clusters_work() {
  cudaFuncAttributes attributes{};
  const bool known =
      cudaFuncGetAttributes(&attributes, one_pass<float, float, 5, 5, 1, true>) == cudaSuccess;
  return known && attributes.binaryVersion >= 90 && attributes.ptxVersion >= 90;
}

std::int64_t partial_size(std::int64_t columns, int processors) {
  return (columns + 32) * processors;
}

template <class T>
void sweep(const Tile<T>& tile, const double* x, const RowWork& work, const SweepRoom& room,
           double* sums, bool add, Stream stream) {
  const Call<T> call{tile, x, work, room, sums, add, stream};
  const std::int64_t piece = threads * lane<T>;  // columns that each thread takes 16 bytes of
  const auto within = [&](int pieces) { return tile.stride <= pieces * piece; };
  if (within(2) && run_one_pass<T, T, 2, 8, 4, false>(call, 1)) return;
  if (within(4) && run_one_pass<T, T, 4, 6, 2, false>(call, 1)) return;
  if (within(5) && run_one_pass<T, T, 5, 5, 2, false>(call, 1)) return;
  if (within(6) && run_one_pass<T, T, 6, 4, 1, false>(call, 1)) return;
  if (within(8) && run_one_pass<T, T, 8, 3, 1, false>(call, 1)) return;
  if (within(10) && run_one_pass<T, T, 10, 2, 1, false>(call, 1)) return;
  for (const int blocks : {2, 4, most_blocks_in_cluster}) {
    if (!room.clusters || within(10)) break;
    if (within(5 * blocks) && run_one_pass<T, T, 5, 5, 1, true>(call, blocks)) return;
    if (within(6 * blocks) && run_one_pass<T, T, 6, 4, 1, true>(call, blocks)) return;
    if (within(7 * blocks) && run_one_pass<T, T, 7, 4, 1, true>(call, blocks)) return;
    if (within(8 * blocks) && run_one_pass<T, T, 8, 3, 1, true>(call, blocks)) return;
  }
  cudaGetLastError();  // of a question above that was answered by no
  multiply(call);
  run_second_pass(call);
}

std::int64_t most_columns_in_double(const SweepRoom& room) {
  return std::int64_t{5} * threads * lane<float> * (room.clusters ? most_blocks_in_cluster : 1);
}

bool sweep_in_double(const Tile<float>& tile, const double* x, const RowWork& work,
                     const SweepRoom& room, double* sums, Stream stream) {
  const Call<float> call{tile, x, work, room, sums, false, stream};
  const auto within = [&](int pieces) {
    return tile.stride <= std::int64_t{pieces} * threads * lane<float>;
  };
  if (within(2) && run_one_pass<float, double, 2, 8, 4, false>(call, 1)) return true;
  if (within(4) && run_one_pass<float, double, 4, 6, 2, false>(call, 1)) return true;
  if (within(5) && run_one_pass<float, double, 5, 5, 2, false>(call, 1)) return true;
  for (const int blocks : {2, 4, most_blocks_in_cluster})
    if (room.clusters && within(5 * blocks) &&
        run_one_pass<float, double, 5, 5, 1, true>(call, blocks))
      return true;
  cudaGetLastError();  // of a question above that was answered by no
  return false;
}

template <class T>
void add_up(const Tile<T>& tile, const RowWork& work, const SweepRoom& room, double* sums, bool add,
            Stream stream) {
  run_second_pass(Call<T>{tile, nullptr, work, room, sums, add, stream});
}

#define REMBLAI_FOR(T)                                                                             \
  template void sweep<T>(const Tile<T>&, const double*, const RowWork&, const SweepRoom&, double*, \
                         bool, Stream);                                                            \
  template void add_up<T>(const Tile<T>&, const RowWork&, const SweepRoom&, double*, bool, Stream);
REMBLAI_FOR(float)
REMBLAI_FOR(double)

}  // namespace remblai::cuda
