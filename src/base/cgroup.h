// What the control groups of this process leave it: containers, systemd and batch systems set these
// limits. Versions 1 and 2 of Linux's interface; a file that is missing or makes no sense sets
// none.
#pragma once

#include <filesystem>

namespace remblai {

/// Seconds of processor time for each second: the smallest quota of the process's group and of
/// those above it. Infinity without a quota. `root` stands for / (tests have their own).
double cgroup_cpus(const std::filesystem::path& root = "/");

/// Bytes that can be taken before the first limit is reached, of the process's group or of one
/// above it; infinity without a limit. Pages of files that the kernel would drop first are counted
/// as free, since having read a large file does not make memory scarce.
double cgroup_memory(const std::filesystem::path& root = "/");

}  // namespace remblai
