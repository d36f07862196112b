// Row rules, and the choice of a kernel for given resources.
#include "transport/kernel.h"

#include <cmath>
#include <optional>
#include <utility>

#include "remblai/error.h"
#include "transport/cuda/kernel_cuda.h"
#include "transport/engine.h"
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

double log2_column_sum(const GroundCost& cost, double s, Index j, const Vector& rows) {
  const Vector exponents = rows - s * cost.column(j);
  const double top = cost.shard().largest(exponents);
  const auto power = [&](double x) { return std::exp2(x - top); };
  return top + std::log2(cost.shard().sum(exponents.unaryExpr(power)));
}

std::unique_ptr<Kernel> make_kernel(const Resources& resources, Index m, Index n) {
  // Kernels of two kinds add up differently, so all ranks have the same: a GPU if it was asked for.
  const std::optional<int> gpu = gpu_for(resources, m, n);
  if (!gpu) return make_cpu_kernel(resources);
  try {
    std::unique_ptr<Kernel> kernel = make_cuda_kernel(resources, *gpu);
    return resources.comm ? among_ranks(std::move(kernel)) : std::move(kernel);
  } catch (const Error&) {  // a GPU that was not asked for and cannot be used is none
    if (resources.device != Device::automatic) throw;
    return make_cpu_kernel(resources);
  }
}

}  // namespace remblai
