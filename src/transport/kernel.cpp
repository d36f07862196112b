// Row rules, and the choice of a kernel for given resources.
#include "transport/kernel.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "remblai/comm.h"
#include "remblai/devices.h"
#include "remblai/error.h"
#include "transport/cuda/kernel_cuda.h"
#include "transport/kernel_cpu.h"
#include "transport/kernel_ranks.h"

namespace remblai {

RowRule RowRule::weigh(const Vector& weights) {
  RowRule rule;
  rule.weights_ = &weights;
  return rule;
}

RowRule RowRule::meet(const Marginal& marginal, double lambda, const Vector& u, Vector& factors) {
  RowRule rule;
  rule.marginal_ = &marginal;
  rule.power_ = marginal.power(lambda);
  rule.u_ = &u;
  rule.factors_ = &factors;
  return rule;
}

double RowRule::operator()(Index i, double product) const {
  if (weights_) return (*weights_)[i] * product;
  return (*factors_)[i] = marginal_->factor(i, product, (*u_)[i], power_);
}

RowRule::Kind RowRule::kind() const {
  if (weights_) return Kind::weigh;
  return marginal_->is_exact() ? Kind::meet_exact : Kind::meet_relaxed;
}

const Vector& RowRule::weights() const {
  return weights_ ? *weights_ : marginal_->weights();
}

// Who answers may be slow, so it is asked twenty times a second at most.
bool Kernel::goes_on() const {
  if (!answer_) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < std::chrono::milliseconds(50)) return true;
  last_look_ = now;
  return answer_();
}

double log2_column_sum(const Vector& column, double s, const Vector& rows, const Shard& shard) {
  const Vector exponents = rows - s * column;
  const double top = shard.largest(exponents);
  const auto power = [&](double x) { return std::exp2(x - top); };
  return top + std::log2(shard.sum(exponents.unaryExpr(power)));
}

namespace {

// Below this many entries a pass is about as long as the way to the GPU and back, and up to so many
// columns the processor has a better preconditioner.
constexpr double worth_a_gpu = 0x1p24;
constexpr Index columns_worth_a_gpu = 4097;

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Resources& resources, Index m, Index n) {
  // Kernels of two kinds add up differently, so all ranks have the same.
  const Comm* comm = resources.comm.get();
  const bool automatic = resources.device == Device::automatic;
  if (resources.device == Device::cpu) return make_cpu_kernel(resources);
  const auto on_gpu = [&](int number) {
    std::unique_ptr<Kernel> kernel = make_cuda_kernel(resources, number);
    return comm ? among_ranks(std::move(kernel)) : std::move(kernel);
  };
  // Each rank on a machine has a GPU of its own, as far as there are so many.
  const int own = comm && gpu_count() > 0 ? comm->rank_here() % gpu_count() : 0;
  if (automatic) {
    const bool large = static_cast<double>(m) * static_cast<double>(n) >= worth_a_gpu;
    const int wanted = comm ? comm->ranks_here() : 1;
    std::unique_ptr<Kernel> kernel;
    if (large && n >= columns_worth_a_gpu && gpu_count() >= wanted) {
      try {
        kernel = on_gpu(own);
      } catch (const Error&) {  // a GPU that cannot be used is none
      }
    }
    const bool none = comm ? comm->maximum(Vector::Constant(1, kernel ? 0 : 1))[0] > 0 : !kernel;
    return none ? make_cpu_kernel(resources) : std::move(kernel);
  }
  const int given = static_cast<int>(resources.device) - static_cast<int>(Device::cuda);
  const int number = given == 0 ? own : given;
  const int count = gpu_count();
  if (number < count) return on_gpu(number);
  throw Error(
      {.field = "device",
       .value = std::string(names(Device{})[static_cast<std::size_t>(resources.device)]),
       .problem = count == 0
                      ? "is not at hand: " + why_no_gpu()
                      : fmt::format("is not at hand: there are {} GPUs, counted from 0", count),
       .remedy = "give the $device cpu or auto"});
}

}  // namespace remblai
