// How much memory this process can take.
#pragma once

#include <filesystem>

#include "remblai/resources.h"

namespace remblai {

/// The bytes that this process can take without swapping and within the limits of its control
/// groups. It is infinity where the system does not tell. `root` stands for /, so that tests can
/// have their own.
double available_memory(const std::filesystem::path& root = "/");

/// The bytes for matrices of all pairs: those that were asked for, or half of what is `free`.
double memory_budget(const Resources& resources, double free = available_memory());

}  // namespace remblai
