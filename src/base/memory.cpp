// Reads the kernel's own estimate.
#include "base/memory.h"

#include <fstream>
#include <limits>
#include <string>

namespace remblai {

double available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  double kibibytes = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") return 1024 * kibibytes;
    std::getline(file, unit);
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace remblai
