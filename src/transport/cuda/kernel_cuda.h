// The kernel on a GPU. Nothing outside this folder includes a CUDA header.
#pragma once

#include <memory>

#include "transport/kernel.h"

namespace remblai {

/// GPUs that can be used; nothing is started on them.
int gpu_count();

/// Entries in double or float, in the memory of a GPU: all of them where they fit into what the
/// resources allow, else some rows at a time, made anew in every pass. nullptr in a build without
/// CUDA. Throws Error where the GPU cannot be used.
std::unique_ptr<Kernel> make_cuda_kernel(const Resources& resources, int gpu);

}  // namespace remblai
