// How many threads a number of threads means on this machine.
#pragma once

#include "remblai/api.h"

namespace remblai {

/// At most one thread for each core that this process may use, which is what 0 means. These are the
/// cores of the calling thread's affinity mask, within the processor quota of its control groups
/// (containers), rounded up. fit, map, predict and the like use so many for Options::threads.
///
/// Calls may run in several threads of a process at a time. Matrix products and decompositions have
/// one number of threads for the whole process, which belongs to OpenBLAS: while calls run, it is
/// the smallest that any of them asks for; when the last ends, it is again what it was before.
REMBLAI_API int thread_count(int wanted);

}  // namespace remblai
