// Kernels that begin while the last one ends, so that their start costs no time.
#pragma once

#include <cuda_runtime_api.h>

namespace remblai::cuda {

// A kernel that may be launched while the last one ends must not touch memory before this.
inline __device__ void wait_for_last_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// When all blocks have come here, the next kernel may be launched. It waits for the end of this one
// by itself, and so for that of all before it.
inline __device__ void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Says that a kernel waits for the last one by itself.
inline cudaLaunchAttribute overlapping() {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

}  // namespace remblai::cuda
