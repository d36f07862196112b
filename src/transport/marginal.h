// What one side of a transport plan asks of its sums: to be equal to given weights, or to be near
// them. The solver takes one rule for each side and knows nothing else about weights.
#pragma once

#include "base/shard.h"
#include "remblai/types.h"

namespace remblai {

/// With the potential f of the side and the entropy weight lambda of the plan, the rule wants the
/// sums
///   exact:             w_i,
///   relaxed (KL, tau): w_i exp(-(f_i - lambda ln w_i)/tau).
/// A relaxed side adds `divergence` to the objective in place of a condition. Its entropy is
/// measured against the weights, so that neither the number of points nor lambda decides how much
/// mass moves. An exact side is the limit of a relaxed one as tau grows. Weights and tau are
/// positive; potentials, lambda and tau have the unit of the cost. Where the entries are divided
/// among processes, vectors have the local ones, and numbers are sums over all.
class Marginal {
 public:
  static Marginal exact(Vector weights, Shard shard = {});
  static Marginal relaxed(Vector weights, double tau, Shard shard = {});

  bool is_exact() const { return tau_ == 0; }
  const Vector& weights() const { return weights_; }
  Index size() const { return weights_.size(); }
  const Shard& shard() const { return shard_; }

  /// How far a scaling goes towards the weights, in (0, 1]: tau/(tau + lambda), 1 for an exact
  /// side.
  double power(double lambda) const { return is_exact() ? 1 : tau_ / (tau_ + lambda); }

  /// The factor of entry i that makes its sum the one that is wanted. `sum` is the sum for the
  /// factor 1, `shift` the potential that stands in the kernel already (base 2, in units of
  /// lambda), `power` that of this side. Never below 2^-1000.
  double factor(Index i, double sum, double shift, double power) const;

  /// The factors of all entries.
  Vector factors(const Vector& sums, const Vector& shifts, double lambda) const;

  /// The potential (base 2, in units of lambda) of entry i from log2 of its sum for the potential
  /// 0.
  double potential(Index i, double log2_sum, double power) const;

  Vector wanted(const Vector& potential, double lambda) const;

  /// sum_i |sums_i - wanted_i|: the L1 error of this side.
  double error(const Vector& sums, const Vector& potential, double lambda) const;

  /// The term of this side in the dual. Its derivative by f_i is the wanted sum.
  double dual(const Vector& potential, double lambda) const;

  /// dual(potential + change) - dual(potential), without cancellation.
  double dual_gain(const Vector& potential, const Vector& change, double lambda) const;

  /// Minus the second derivative of the dual term by f_i, divided by the wanted sum: 0 or 1/tau.
  double curvature() const { return is_exact() ? 0 : 1 / tau_; }

  /// What this side adds to the objective: 0 for an exact one, else
  ///   tau KL(sums | w) - lambda sum_i (sums_i - w_i) ln w_i,  KL(x | w) = sum_i x ln(x/w) - x + w.
  double divergence(const Vector& sums, double lambda) const;

 private:
  Marginal(Vector weights, double tau, Shard shard);

  Vector weights_;
  double tau_;  // 0: exact
  Shard shard_;
};

}  // namespace remblai
