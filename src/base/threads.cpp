// One number for BLAS, LAPACK and the transport engine.
#include "remblai/threads.h"

#include <algorithm>
#include <thread>

#include "base/linalg.h"

namespace remblai {

int thread_count(int threads) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return threads > 0 ? std::min(threads, cores) : cores;
}

int set_threads(int threads) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int chosen = threads > 0 ? std::min(threads, cores) : cores;
  linalg::set_threads(chosen);
  return chosen;
}

}  // namespace remblai
