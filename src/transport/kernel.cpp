// Row rules, and the choice of a kernel for given resources.
#include "transport/kernel.h"

#include <cmath>
#include <optional>
#include <utility>

#include "base/common_rows.h"
#include "remblai/error.h"
#include "transport/cuda/kernel_cuda.h"
#include "transport/engine.h"
#include "transport/kernel_cpu.h"
#include "transport/kernel_ranks.h"

namespace remblai {

Matrix Kernel::times_shares(const Matrix& y, const Shard& shares) const {
  return times(united(shares, y));
}

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

std::unique_ptr<Kernel> make_kernel(const Resources& resources, Index m, Index n) {
  if (resources.device == Device::cpu) return make_cpu_kernel(resources);
  const Comm* comm = resources.comm.get();
  const bool automatic = resources.device == Device::automatic;
  std::unique_ptr<Kernel> kernel;
  if (const std::optional<int> gpu = gpu_for(resources, m, n)) {
    try {
      kernel = make_cuda_kernel(resources, *gpu);
    } catch (const Error&) {  // a GPU that was not asked for and cannot be used is none
      if (!automatic) throw;
    }
  }
  // Kernels of two kinds add up differently, so all ranks have the same.
  const bool none =
      comm && automatic ? comm->maximum(Vector::Constant(1, kernel ? 0 : 1))[0] > 0 : !kernel;
  if (none) return make_cpu_kernel(resources);
  return comm ? among_ranks(std::move(kernel)) : std::move(kernel);
}

}  // namespace remblai
