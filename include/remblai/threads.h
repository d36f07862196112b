// How many threads the linear algebra of this process uses.
#pragma once

#include "remblai/api.h"

namespace remblai {

/// Sets the number of threads of every later matrix product and decomposition in this process (it
/// belongs to OpenBLAS, not to one object): at most one for each core, which is what 0 means.
/// Returns the number. fit calls it with Resources::threads.
REMBLAI_API int set_threads(int threads);
REMBLAI_API int thread_count(int wanted);

}  // namespace remblai
