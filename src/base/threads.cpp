// One number for BLAS, LAPACK and the transport engine.
#include "remblai/threads.h"

#include <algorithm>

#include "base/cores.h"
#include "remblai/comm.h"

namespace remblai {

int thread_count(int wanted) {
  if (wanted == 1) return 1;  // without a look at the machine, which reads files
  const int cores = usable_cores();
  return wanted > 0 ? std::min(wanted, cores) : cores;
}

int thread_count(const Resources& resources) {
  const int cores = thread_count(resources.threads);
  if (!resources.comm || resources.threads > 0) return cores;
  return std::max(1, cores / resources.comm->ranks_here());
}

}  // namespace remblai
