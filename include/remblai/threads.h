// What a number of threads means on this machine.
#pragma once

#include "remblai/api.h"
#include "remblai/resources.h"

namespace remblai {

/// The number of threads that `wanted` stands for: at most one for each core that this process may
/// use, which is also what 0 means. These are the cores of the calling thread's affinity mask,
/// within the processor quota of its control groups (containers), rounded up. fit, map, predict and
/// the like use so many for Resources::threads.
///
/// Calls may run in several threads of a process at a time. Matrix products and decompositions have
/// one number of threads for the whole process, which belongs to OpenBLAS. While calls run, it is
/// the smallest that any of them asks for. When the last ends, it is again what it was before.
REMBLAI_API int thread_count(int wanted);

/// The same for resources. Where several processes work together (Resources::comm), 0 stands for
/// the share of each in the cores of its machine.
REMBLAI_API int thread_count(const Resources& resources);

}  // namespace remblai
