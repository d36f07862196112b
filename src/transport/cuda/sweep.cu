// Sweeps in one reading of the matrix: a block of threads keeps its part of a row between the
// product and the sums of the columns, while the rows behind it are on their way.
#include "transport/cuda/sweep.h"

#include <cooperative_groups.h>

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "transport/cuda/block_sum.cuh"
#include "transport/cuda/ring.cuh"
#include "transport/cuda/sweep_parts.cuh"

namespace remblai::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr int most_blocks_in_cluster = 8;

// What a thread may hold of its columns without running out of registers.
constexpr int bytes_in_registers = 384;

// Rows whose weights a block has at hand.
constexpr int rows_known = 256;

// What a block may keep in shared memory beside its rows.
constexpr std::size_t shared_beside = 6272;
static_assert(shared_beside % 128 == 0 &&
              shared_beside >= 2 * (most_blocks_in_cluster * warps + rows_known) * sizeof(double) +
                                   (most_stages + 2) * sizeof(std::uint64_t));

// Rows are dealt to clusters of blocks in turn, and in a cluster each block has `share` columns.
// The copy engine keeps `stages` rows on their way. A thread takes its columns of a row from shared
// memory and keeps them, where its registers suffice, until the product of the row is known and
// they are added to the sums of the columns: so the place is free for another row at once. Behind
// the first `stages` rows, which come while the last sweep ends and the memory has nothing else to
// do, `staying` rows of a cluster are kept in the cache for the next sweep. Products and sums are
// made in numbers of the type `Sum`. With `narrow` they leave as such. `settled` says that the last
// two kernels did not write to the matrix.
template <class T, class Sum, int pieces, bool clustered>
__global__ void __launch_bounds__(threads, 1)
    one_pass(Tile<T> tile, int share, int stages, int staying, bool settled, bool narrow,
             const double* x, RowWork work, double* partial, double* products) {
  constexpr int width = pieces * lane<T>;
  constexpr bool kept = width * (2 * sizeof(Sum) + sizeof(T)) <= bytes_in_registers;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ std::uint64_t barriers[most_stages];
  // Partial products of the warps of all blocks of the cluster, for two rows in turn, and barriers
  // that say when they are there. Nobody posts row t + 2 who has not all parts of row t + 1, which
  // come from warps that are through with row t.
  __shared__ Sum parts[2][(clustered ? most_blocks_in_cluster : 1) * warps];
  [[maybe_unused]] __shared__ std::uint64_t posted[2];
  __shared__ double weights[rows_known], shifts[rows_known];
  const Ring<T> ring{reinterpret_cast<T*>(memory), barriers, share};
  unsigned rank = 0, size = 1;
  if constexpr (clustered) {
#if __CUDA_ARCH__ >= 900
    rank = cg::this_cluster().block_rank();
    size = cg::this_cluster().num_blocks();
#else
    __trap();  // `clusters_work` has said no
#endif
  }
  [[maybe_unused]] const std::uint32_t posted_bytes =
      size * warps * static_cast<unsigned>(sizeof(Sum));
  const int group = static_cast<int>(blockIdx.x / size),
            groups = static_cast<int>(gridDim.x / size);
  const int begin = static_cast<int>(rank) * share;
  const int mine = min(share, static_cast<int>(tile.stride) - begin);  // columns
  const int warp = threadIdx.x / 32, in_warp = threadIdx.x % 32;
  const auto place = [&](int piece) {
    return (piece * threads + static_cast<int>(threadIdx.x)) * lane<T>;
  };
  const int count = static_cast<int>((tile.rows - group + groups - 1) / groups);
  const auto row_of = [&](int t) { return group + static_cast<std::int64_t>(t) * groups; };
  const auto fill = [&](int stage, int t) {
    const bool stays = t >= stages && t < stages + staying;
    if (t < count) ring.fill(stage, tile.kernel + row_of(t) * tile.stride + begin, mine, stays);
  };

  ring.prepare(stages);
  if constexpr (clustered) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
      for (std::uint64_t& barrier : posted) {
        prepare_barrier(&barrier, 1);
        expect_bytes(&barrier, posted_bytes);
      }
    cg::this_cluster().sync();  // nobody writes into the memory of a block that has not begun
#endif
  } else {
    __syncthreads();
  }
  if (!settled) wait_for_last_kernel();
  for (int t = 0; t < stages; ++t) fill(t, t);
  if (settled) wait_for_last_kernel();
  let_next_kernel_begin();
  Sum factors[width], sums[width];
  const int known = min(mine, static_cast<int>(tile.columns) - begin);
#pragma unroll
  for (int p = 0; p < pieces; ++p)
    for (int l = 0; l < lane<T>; l += 2) {
      const int j = place(p) + l;
      double2 pair = {0, 0};
      if (j + 1 < known)
        pair = *reinterpret_cast<const double2*>(x + begin + j);
      else if (j < known)
        pair.x = x[begin + j];
      factors[p * lane<T> + l] = static_cast<Sum>(pair.x);
      factors[p * lane<T> + l + 1] = static_cast<Sum>(pair.y);
      sums[p * lane<T> + l] = sums[p * lane<T> + l + 1] = 0;
    }

  const auto take = [&](const T* row, int p, T* k) {
    const int4 none = {0, 0, 0, 0};
    *reinterpret_cast<int4*>(k) =
        place(p) < mine ? *reinterpret_cast<const int4*>(row + place(p)) : none;
  };
  T row_kept[kept ? width : lane<T>];
  const auto multiply = [&](const T* row) {
    Sum dot = 0;
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      T* k = row_kept + (kept ? p * lane<T> : 0);
      take(row, p, k);
      for (int l = 0; l < lane<T>; ++l) dot += static_cast<Sum>(k[l]) * factors[p * lane<T> + l];
    }
    return warp_sum(dot);
  };
  // The part of each warp in the product of row t, for all blocks of the cluster; then until all
  // parts are here.
  const auto exchange = [&](int t, Sum part) {
    if constexpr (clustered) {
#if __CUDA_ARCH__ >= 900
      if (in_warp < size) post(&parts[t % 2][rank * warps + warp], part, &posted[t % 2], in_warp);
      wait_for_posted(&posted[t % 2], t / 2 % 2);
      if (threadIdx.x == 0) expect_bytes(&posted[t % 2], posted_bytes);
#endif
      __syncthreads();  // all are through with the row
    } else {
      if (in_warp == 0) parts[t % 2][warp] = part;
      __syncthreads();
    }
  };
  // What the rule knows of the next rows: it comes from far away.
  const auto look_up = [&](int t) {
    __syncthreads();
    const int next = t + static_cast<int>(threadIdx.x);
    if (threadIdx.x < rows_known && next < count) {
      weights[threadIdx.x] = weight_of_row(work, row_of(next));
      shifts[threadIdx.x] = shift_of_row(work, row_of(next));
    }
    __syncthreads();
  };
  bool flushed = false;
  const auto flush = [&] {
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      if (place(p) >= mine) continue;
      const std::int64_t at = group * tile.stride + begin + place(p);
      Sum* from = sums + p * lane<T>;
      if constexpr (sizeof(Sum) == sizeof(float)) {
        if (narrow) {
          const float4 all = {from[0], from[1], from[2], from[3]};
          *reinterpret_cast<float4*>(reinterpret_cast<float*>(partial) + at) = all;
          continue;
        }
      }
      for (int l = 0; l < lane<T>; l += 2) {
        double2& to = *reinterpret_cast<double2*>(partial + at + l);
        double2 total = {0, 0};
        if (flushed) total = to;
        total.x += static_cast<double>(from[l]);
        total.y += static_cast<double>(from[l + 1]);
        to = total;
        from[l] = from[l + 1] = 0;
      }
    }
    flushed = true;
  };
  // From the parts of its product on: row t is added to the sums.
  const auto add = [&](int t, const T* row) {
    Sum total = 0;
    if constexpr (clustered) {
      for (unsigned e = in_warp; e < size * warps; e += 32) total += parts[t % 2][e];
      total = warp_sum(total);
    } else {
      total = parts[t % 2][in_warp % warps];
      for (int step = warps / 2; step > 0; step /= 2)
        total += __shfl_xor_sync(0xffffffff, total, step);
    }
    if (rank == 0 && threadIdx.x == 0) products[row_of(t)] = static_cast<double>(total);
    const Sum y = finish_row<Sum>(work, weights[t % rows_known], shifts[t % rows_known],
                                  static_cast<double>(total));
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      T* k = row_kept + (kept ? p * lane<T> : 0);
      if constexpr (!kept) take(row, p, k);
      for (int l = 0; l < lane<T>; ++l)
        sums[p * lane<T> + l] += y * static_cast<Sum>(work.squares ? k[l] * k[l] : k[l]);
    }
    if (sizeof(Sum) < sizeof(double) && (t + 1) % rows_in_float == 0) flush();
  };

  for (int t = 0, stage = 0, phase = 0, last_stage = 0; t < count; ++t) {
    if (t % rows_known == 0) look_up(t);
    const T* row = ring.wait(stage, phase);
    exchange(t, multiply(row));
    // The place that everyone is through with takes another row.
    if (kept)
      fill(stage, t + stages);
    else if (t > 0)
      fill(last_stage, t - 1 + stages);
    add(t, row);
    last_stage = stage;
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
  }
  flush();
}

// How many groups of so many blocks each a GPU runs at a time; 0 where it cannot.
template <class Function>
int groups_at_once(const Function& kernel, cudaLaunchConfig_t launch, int blocks,
                   const SweepRoom& room) {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess ||
      attributes.sharedSizeBytes > shared_beside)
    return 0;
  const int most = room.shared_memory - static_cast<int>(shared_beside);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (blocks == 1) return room.processors;
  int at_once = 0;
  launch.gridDim = static_cast<unsigned>(blocks);
  return cudaOccupancyMaxActiveClusters(&at_once, kernel, &launch) == cudaSuccess ? at_once : 0;
}

// How many rows of each group stay in the cache. Two fifths of it are theirs: the more there are,
// the more often they take the places of each other (fastest from 24 to 32 MiB of 60).
template <class T>
int staying_rows(const Call<T>& call, int groups) {
  const std::int64_t a_row_each = groups * call.tile.stride * static_cast<std::int64_t>(sizeof(T));
  return static_cast<int>(std::int64_t{call.room.cache} * 2 / 5 / a_row_each);
}

// Each row is split over so many blocks. False where the GPU has too little shared memory for it.
template <class T, class Sum, int pieces, bool clustered>
bool run_one_pass(const Call<T>& call, int blocks) {
  const Tile<T>& tile = call.tile;
  const int share = static_cast<int>((tile.stride / lane<T> + blocks - 1) / blocks) * lane<T>;
  if (share > pieces * threads * lane<T>) return false;
  const std::size_t place = static_cast<std::size_t>(share) * sizeof(T);
  const int stages = static_cast<int>(std::min<std::size_t>(
      most_stages, (static_cast<std::size_t>(call.room.shared_memory) - shared_beside) / place));
  if (stages < 2) return false;
  const auto kernel = one_pass<T, Sum, pieces, clustered>;
  cudaLaunchConfig_t launch = {};
  cudaLaunchAttribute attributes[2] = {};
  launch.blockDim = threads;
  launch.dynamicSmemBytes = static_cast<std::size_t>(stages) * place;
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
  // So few rows are added up in float alone.
  const bool narrow =
      std::is_same_v<Sum, float> && (tile.rows + groups - 1) / groups < rows_in_float;
  cudaLaunchKernelEx(&launch, kernel, tile, share, stages, staying_rows(call, groups),
                     call.room.settled, narrow, call.x, call.work, call.room.partial,
                     call.room.products);
  finish(call, groups, tile.rows, narrow);
  return true;
}

// The fewest registers that hold the share of a thread.
template <class T>
bool run_narrowest(const Call<T>& call, int blocks) {
  if (blocks == 1)
    return run_one_pass<T, T, 2, false>(call, 1) || run_one_pass<T, T, 4, false>(call, 1) ||
           run_one_pass<T, T, 5, false>(call, 1) || run_one_pass<T, T, 6, false>(call, 1) ||
           run_one_pass<T, T, 8, false>(call, 1);
  return run_one_pass<T, T, 5, true>(call, blocks) || run_one_pass<T, T, 6, true>(call, blocks) ||
         run_one_pass<T, T, 7, true>(call, blocks) || run_one_pass<T, T, 8, true>(call, blocks);
}

}  // namespace

bool clusters_work() {
  cudaFuncAttributes attributes{};
  const bool known =
      cudaFuncGetAttributes(&attributes, one_pass<float, float, 5, true>) == cudaSuccess;
  return known && attributes.binaryVersion >= 90 && attributes.ptxVersion >= 90;
}

std::int64_t partial_size(std::int64_t columns, int processors) {
  return (columns + 32) * processors;
}

template <class T>
void sweep(const Tile<T>& tile, const double* x, const RowWork& work, const SweepRoom& room,
           double* sums, bool add, Stream stream) {
  const Call<T> call{tile, x, work, room, sums, add, stream};
  if (run_narrowest(call, 1)) return;
  for (int blocks = 2; room.clusters && blocks <= most_blocks_in_cluster; blocks *= 2)
    if (run_narrowest(call, blocks)) return;
  if (!room.clusters && run_one_pass<T, T, 10, false>(call, 1)) return;
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
  if (run_one_pass<float, double, 2, false>(call, 1) ||
      run_one_pass<float, double, 4, false>(call, 1) ||
      run_one_pass<float, double, 5, false>(call, 1))
    return true;
  for (int blocks = 2; room.clusters && blocks <= most_blocks_in_cluster; blocks *= 2)
    if (run_one_pass<float, double, 5, true>(call, blocks)) return true;
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
