// Row rules, and the choice of a kernel for given resources.
#include "transport/kernel.h"

#include <fmt/format.h>

#include <cmath>

#include "remblai/devices.h"
#include "remblai/error.h"
#include "transport/cuda/kernel_cuda.h"
#include "transport/kernel_cpu.h"

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

double log2_column_sum(const GroundCost& cost, double s, Index j, const Vector& rows) {
  const Vector exponents = rows - s * cost.column(j);
  const double top = cost.shard().largest(exponents);
  const auto power = [&](double x) { return std::exp2(x - top); };
  return top + std::log2(cost.shard().sum(exponents.unaryExpr(power)));
}

namespace {

// Below this many entries a pass is about as long as the way to the GPU and back, and up to so many
// columns the processor has a better preconditioner.
constexpr double worth_a_gpu = 0x1p24;
constexpr Index columns_worth_a_gpu = 4097;

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Resources& resources, Index m, Index n) {
  if (resources.device == Device::cpu) return make_cpu_kernel(resources);
  if (resources.device == Device::automatic) {
    const bool large = static_cast<double>(m) * static_cast<double>(n) >= worth_a_gpu;
    if (large && n >= columns_worth_a_gpu && gpu_count() > 0) {
      try {
        return make_cuda_kernel(resources, 0);
      } catch (const Error&) {  // a GPU that cannot be used is none
      }
    }
    return make_cpu_kernel(resources);
  }
  const int number = static_cast<int>(resources.device) - static_cast<int>(Device::cuda);
  const int count = gpu_count();
  if (number < count) return make_cuda_kernel(resources, number);
  throw Error(
      {.field = "device",
       .value = std::string(names(Device{})[static_cast<std::size_t>(resources.device)]),
       .problem = count == 0
                      ? "is not at hand: " + why_no_gpu()
                      : fmt::format("is not at hand: there are {} GPUs, counted from 0", count),
       .remedy = "give the $device cpu or auto"});
}

}  // namespace remblai
