// Reads the kernel's own estimate, and the limits of the control groups.
#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "base/cgroup.h"

namespace remblai {
namespace {

double free_memory_of_the_machine(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    double kibibytes = 0;
    if (words >> key && key == "MemAvailable:" && words >> kibibytes && kibibytes >= 0)
      return 1024 * kibibytes;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

double available_memory(const std::filesystem::path& root) {
  return std::min(free_memory_of_the_machine(root), cgroup_memory(root));
}

double memory_budget(const Resources& resources, double free) {
  return resources.memory > 0 ? resources.memory_bytes() : free / 2;
}

}  // namespace remblai
