// What stands for a GPU in a build without CUDA.
#include "remblai/devices.h"
#include "remblai/error.h"
#include "transport/cuda/kernel_cuda.h"
#include "transport/cuda/matrix_on_gpu.h"
#include "transport/engine.h"

namespace remblai {

std::vector<Gpu> gpus() {
  return {};
}

int gpu_count() {
  return 0;
}

std::string why_no_gpu() {
  return "this build has no CUDA; configure it with -D REMBLAI_CUDA=ON where nvcc is installed";
}

Extremes extremes_of(const MatrixOnGpu&) {
  throw Error({.field = "matrix",
               .problem = "is on a GPU, and " + why_no_gpu(),
               .remedy = "copy it to the processor by other means"});
}

Matrix fetched(const MatrixOnGpu& matrix) {
  extremes_of(matrix);
  return {};
}

std::unique_ptr<Kernel> make_cuda_kernel(const Resources&, int) {
  return nullptr;
}

std::shared_ptr<linalg::Engine> make_cuda_engine(int, bool) {
  return nullptr;
}

}  // namespace remblai
