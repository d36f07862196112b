// The machines that a fit can run on: the processor, and the GPUs that this build can use.
#pragma once

#include <string>
#include <vector>

#include "remblai/api.h"

namespace remblai {

struct Gpu {
  std::string name;
  double memory = 0;         ///< bytes
  double free = 0;           ///< bytes
  std::string architecture;  ///< such as "9.0"
};

/// The GPUs that can be used, in the order of their numbers. Empty where there is none, where no
/// driver is installed, or where this build has no CUDA. Never throws.
REMBLAI_API std::vector<Gpu> gpus();

/// Why `gpus` is empty and what would help; empty where it is not.
REMBLAI_API std::string why_no_gpu();

}  // namespace remblai
