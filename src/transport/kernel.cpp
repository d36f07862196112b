// Row rules, and the choice of a kernel for given resources.
#include "transport/kernel.h"

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

std::unique_ptr<Kernel> make_kernel(const Resources& resources) {
  return make_cpu_kernel(resources);
}

}  // namespace remblai
