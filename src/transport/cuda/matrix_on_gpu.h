// Matrices that a caller has on a GPU.
#pragma once

#include "remblai/devices.h"
#include "transport/cuda/extremes.h"

namespace remblai {

/// Waits for whatever the GPU was asked for before. Throws Error where the memory is not that of
/// its GPU, and in a build without CUDA.
Extremes extremes_of(const MatrixOnGpu& matrix);

}  // namespace remblai
