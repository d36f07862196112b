// One number for BLAS, LAPACK and the transport engine.
#include "remblai/threads.h"

#include <algorithm>

#include "base/cores.h"

namespace remblai {

int thread_count(int wanted) {
  const int cores = usable_cores();
  return wanted > 0 ? std::min(wanted, cores) : cores;
}

}  // namespace remblai
