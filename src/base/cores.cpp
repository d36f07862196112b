// Asks the scheduler for the affinity mask, and the control groups for their quota.
#include "base/cores.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/cgroup.h"

#if defined(__linux__)
#include <sched.h>

#include <cerrno>
#include <memory>
#endif

namespace remblai {
namespace {

int cores_of_the_machine() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

#if defined(__linux__)
// The kernel refuses a set that is too small for its cores, so the set grows until it is not.
int cores_of_this_thread() {
  for (int most = 1024; most <= 1 << 20; most *= 2) {
    const std::size_t size = CPU_ALLOC_SIZE(most);
    const auto release = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(release)> set(CPU_ALLOC(most));
    if (!set) break;
    if (sched_getaffinity(0, size, set.get()) == 0) return CPU_COUNT_S(size, set.get());
    if (errno != EINVAL) break;
  }
  return cores_of_the_machine();
}
#else
int cores_of_this_thread() {
  return cores_of_the_machine();
}
#endif

}  // namespace

int usable_cores(const std::filesystem::path& root) {
  const double cores = std::max(1, cores_of_this_thread());
  return static_cast<int>(std::max(1.0, std::min(cores, std::ceil(cgroup_cpus(root)))));
}

}  // namespace remblai
