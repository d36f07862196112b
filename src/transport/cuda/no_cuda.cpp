// What stands for a GPU in a build without CUDA.
#include "remblai/devices.h"
#include "transport/cuda/kernel_cuda.h"
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

std::unique_ptr<Kernel> make_cuda_kernel(const Resources&, int) {
  return nullptr;
}

std::shared_ptr<linalg::Engine> make_cuda_engine(int, bool) {
  return nullptr;
}

}  // namespace remblai
