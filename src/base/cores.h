// How many cores this process may use.
#pragma once

#include <filesystem>

namespace remblai {

/// The cores that the calling thread may run on (its affinity mask), and no more than the quota of
/// its control groups, rounded up, is good for; at least 1. `root` stands for / (tests have their
/// own).
int usable_cores(const std::filesystem::path& root = "/");

}  // namespace remblai
