// The machines that a fit can run on: the processor, and the GPUs that this build can use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "remblai/api.h"
#include "remblai/types.h"

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

/// A matrix in the memory of a GPU, row by row without gaps.
struct MatrixOnGpu {
  const void* data = nullptr;
  bool in_float = false;  ///< numbers of 4 bytes, not 8
  Index rows = 0;
  Index columns = 0;
  int gpu = 0;                  ///< its number
  std::shared_ptr<void> owner;  ///< frees the memory; null where that is the caller's
};

/// A copy for the processor, once the GPU has done what it was asked for before. Throws Error where
/// the memory is not that of its GPU, and in a build without CUDA.
REMBLAI_API Matrix fetched(const MatrixOnGpu& matrix);

/// Why `gpus` is empty and what would help; empty where it is not.
REMBLAI_API std::string why_no_gpu();

}  // namespace remblai
