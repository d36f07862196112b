// How much memory there is.
#pragma once

#include <filesystem>

namespace remblai {

/// Bytes that this process can take without swapping and within the limits of its control groups;
/// infinity where the system does not tell. `root` stands for / (tests have their own).
double available_memory(const std::filesystem::path& root = "/");

}  // namespace remblai
