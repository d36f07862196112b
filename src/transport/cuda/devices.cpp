// The GPUs of this machine.
#include "remblai/devices.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "transport/cuda/kernel_cuda.h"

namespace remblai {
namespace {

constexpr int oldest_architecture = 8;  // Ampere

std::string asked_for(int& count) {
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return "";
  count = 0;
  cudaGetLastError();
  return cudaGetErrorString(status);
}

}  // namespace

int gpu_count() {
  int count = 0, major = 0, usable = 0;
  asked_for(count);
  while (usable < count &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, usable) == cudaSuccess &&
         major >= oldest_architecture)
    ++usable;
  return usable;
}

std::vector<Gpu> gpus() {
  const int count = gpu_count();
  std::vector<Gpu> all;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) break;
    std::size_t free = 0, total = properties.totalGlobalMem;
    int current = 0;
    if (cudaGetDevice(&current) == cudaSuccess && cudaSetDevice(i) == cudaSuccess) {
      cudaMemGetInfo(&free, &total);
      cudaSetDevice(current);
    }
    all.push_back({properties.name, static_cast<double>(total), static_cast<double>(free),
                   fmt::format("{}.{}", properties.major, properties.minor)});
  }
  cudaGetLastError();
  return all;
}

std::string why_no_gpu() {
  int count = 0;
  const std::string answer = asked_for(count);
  if (!answer.empty())
    return fmt::format("the CUDA driver says: {}; a GPU needs NVIDIA's driver for CUDA {}", answer,
                       CUDART_VERSION / 1000);
  if (!gpus().empty()) return "";
  return count == 0 ? "there is no GPU on this machine"
                    : fmt::format("the GPU is too old; it needs compute capability {}.0 or later",
                                  oldest_architecture);
}

}  // namespace remblai
