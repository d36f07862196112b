// Which GPU takes a problem.
#include "transport/engine.h"

#include <fmt/format.h>

#include "remblai/comm.h"
#include "remblai/devices.h"
#include "remblai/error.h"
#include "transport/cuda/kernel_cuda.h"

namespace remblai {
namespace {

// Below this many entries a pass is about as long as the way to the GPU and back, and up to so many
// columns the processor has a better preconditioner.
constexpr double worth_a_gpu = 0x1p24;
constexpr Index columns_worth_a_gpu = 4097;

}  // namespace

std::optional<int> gpu_for(const Resources& resources, Index m, Index n) {
  const Comm* comm = resources.comm.get();
  const bool automatic = resources.device == Device::automatic;
  if (resources.device == Device::cpu) return std::nullopt;
  const int count = gpu_count();
  // Each rank on a machine has a GPU of its own, as far as there are so many.
  const int own = comm && count > 0 ? comm->rank_here() % count : 0;
  if (automatic) {
    const bool large = static_cast<double>(m) * static_cast<double>(n) >= worth_a_gpu;
    const int wanted = comm ? comm->ranks_here() : 1;
    return large && n >= columns_worth_a_gpu && count >= wanted ? std::optional(own) : std::nullopt;
  }
  const int given = static_cast<int>(resources.device) - static_cast<int>(Device::cuda);
  const int number = given == 0 ? own : given;
  if (number < count) return number;
  throw Error(
      {.field = "device",
       .value = std::string(names(Device{})[static_cast<std::size_t>(resources.device)]),
       .problem = count == 0
                      ? "is not at hand: " + why_no_gpu()
                      : fmt::format("is not at hand: there are {} GPUs, counted from 0", count),
       .remedy = "give the $device cpu or auto"});
}

// Ranks add up alike whatever they run on.
std::shared_ptr<linalg::Engine> make_engine(const Resources& resources, Index m, Index n) {
  if (resources.comm || linalg::current_engine()) return nullptr;
  const std::optional<int> gpu = gpu_for(resources, m, n);
  if (!gpu) return nullptr;
  if (resources.device != Device::automatic) return make_cuda_engine(*gpu, true);
  try {
    return make_cuda_engine(*gpu, false);
  } catch (const Error&) {  // a GPU that cannot be used is none
    return nullptr;
  }
}

}  // namespace remblai
