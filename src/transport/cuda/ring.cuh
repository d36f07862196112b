// Rows on their way from the memory of a GPU into the shared memory of a block of threads.
#pragma once

#include <cstdint>

#include "transport/cuda/block_sum.cuh"

namespace remblai::cuda {

constexpr int most_stages = 8;

inline __device__ unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// A barrier in shared memory for so many arrivals. All threads have to meet before it is used.
inline __device__ void prepare_barrier(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

#if __CUDA_ARCH__ >= 900
// Arrives, and from now on the barrier waits for so many bytes too.
inline __device__ void expect_bytes(std::uint64_t* barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Sends a number to its place in the memory of another block of the cluster, and its bytes to the
// barrier there.
template <class T>
__device__ void post(T* place, T value, std::uint64_t* barrier, unsigned block) {
  unsigned to = 0, told = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(place)), "r"(block));
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(told)
      : "r"(shared_address(barrier)), "r"(block));
  if constexpr (sizeof(T) == 8)
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to),
        "l"(__double_as_longlong(value)), "r"(told)
        : "memory");
  else
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
        "r"(__float_as_uint(value)), "r"(told)
        : "memory");
}

// Until all that other blocks post is here.
inline __device__ void wait_for_posted(std::uint64_t* barrier, int phase) {
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{\n .reg .pred p;\n"
        " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        " selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(phase)
        : "memory");
}
#endif

// Places of `size` numbers each, and for each a barrier that says when its row is there. From
// Hopper on a row is one order to the copy engine; before, every thread copies what it will read,
// 16 bytes at a time.
template <class T>
struct Ring {
  T* places;
  std::uint64_t* barriers;
  int size;

  // All threads; nothing may be asked of the ring before they have met.
  __device__ void prepare(int stages) const {
    if (threadIdx.x > 0) return;
#if __CUDA_ARCH__ >= 900
    constexpr int arrivals = 1;
#else
    constexpr int arrivals = threads;
#endif
    for (int stage = 0; stage < stages; ++stage) prepare_barrier(barriers + stage, arrivals);
  }

  // All threads, when none of them reads this place any more. Whoever reads the matrix again finds
  // in the cache the rows that stay there; the others take no room from them.
  __device__ void fill(int stage, const T* from, int count, bool stays) const {
    T* to = places + static_cast<std::int64_t>(stage) * size;
    const unsigned barrier = shared_address(barriers + stage);
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x > 0) return;
    const auto bytes = count > 0 ? count * static_cast<unsigned>(sizeof(T)) : 0U;
    expect_bytes(barriers + stage, bytes);
    if (bytes == 0) return;
    std::uint64_t policy = 0;
    if (stays)
      asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    else
      asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
        : "memory");
#else
    constexpr int lane = 16 / sizeof(T);
    for (int j = threadIdx.x * lane; j < count; j += threads * lane)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + j)),
                   "l"(from + j)
                   : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
#endif
  }

  // Until the row of this place is there: `phase` is how often the place was filled before, modulo
  // 2.
  __device__ const T* wait(int stage, int phase) const {
    const unsigned barrier = shared_address(barriers + stage);
    unsigned done = 0;
    while (!done)
      asm volatile(
          "{\n .reg .pred p;\n"
#if __CUDA_ARCH__ >= 900
          " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
#else
          " mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
#endif
          " selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(barrier), "r"(phase)
          : "memory");
    return places + static_cast<std::int64_t>(stage) * size;
  }
};

}  // namespace remblai::cuda
