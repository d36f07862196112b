// What one side of a transport plan asks of its sums: to be equal to given weights, or to be near
// them. The solver takes one rule for each side and knows nothing else about weights.
#pragma once

#include "remblai/types.h"

namespace remblai {

/// With the potential f of the side, plans have the sums that the rule wants,
///   exact:             w_i,
///   relaxed (KL, tau): w_i exp(-f_i/tau), where tau sum_i KL(sum_i | w_i) is part of the
///   objective.
/// Weights and tau are positive. lambda is the entropy weight of the plan, in the units of tau and
/// f.
class Marginal {
 public:
  static Marginal exact(Vector weights);
  static Marginal relaxed(Vector weights, double tau);

  bool is_exact() const { return tau_ == 0; }
  const Vector& weights() const { return weights_; }
  Index size() const { return weights_.size(); }

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

  Vector wanted(const Vector& potential) const;

  /// sum_i |sums_i - wanted_i|: the L1 error of this side.
  double error(const Vector& sums, const Vector& potential) const;

  /// The term of this side in the dual: <w, f>, or -tau sum_i w_i (exp(-f_i/tau) - 1).
  double dual(const Vector& potential) const;

  /// dual(potential + change) - dual(potential), without cancellation.
  double dual_gain(const Vector& potential, const Vector& change) const;

  /// Minus the second derivative of the dual term by f_i, divided by the wanted sum: 0 or 1/tau.
  double curvature() const { return is_exact() ? 0 : 1 / tau_; }

  /// tau sum_i KL(sums_i | w_i) with KL(x | w) = x ln(x/w) - x + w; 0 for an exact side.
  double divergence(const Vector& sums) const;

 private:
  Marginal(Vector weights, double tau);

  Vector weights_;
  double tau_;  // 0: exact
};

}  // namespace remblai
