// The two rules, each written once.
#include "transport/marginal.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace remblai {

Marginal::Marginal(Vector weights, double tau) : weights_(std::move(weights)), tau_(tau) {
  assert(weights_.size() > 0 && weights_.minCoeff() > 0 && tau >= 0);
}

Marginal Marginal::exact(Vector weights) {
  return {std::move(weights), 0};
}

Marginal Marginal::relaxed(Vector weights, double tau) {
  assert(tau > 0);
  return {std::move(weights), tau};
}

double Marginal::factor(Index i, double sum, double shift, double power) const {
  if (is_exact()) return weights_[i] / sum;
  return std::exp2(
      std::max(-1000.0, std::log2(weights_[i]) - power * std::log2(sum) - (1 - power) * shift));
}

Vector Marginal::factors(const Vector& sums, const Vector& shifts, double lambda) const {
  if (is_exact()) return weights_.cwiseQuotient(sums);
  Vector all(size());
  for (Index i = 0; i < all.size(); ++i) all[i] = factor(i, sums[i], shifts[i], power(lambda));
  return all;
}

double Marginal::potential(Index i, double log2_sum, double power) const {
  return std::log2(weights_[i]) - power * log2_sum;
}

Vector Marginal::wanted(const Vector& potential, double lambda) const {
  if (is_exact()) return weights_;
  const auto logs = weights_.array().log();
  return (logs - (potential.array() - lambda * logs) / tau_).exp();
}

double Marginal::error(const Vector& sums, const Vector& potential, double lambda) const {
  return (sums - wanted(potential, lambda)).lpNorm<1>();
}

double Marginal::dual(const Vector& potential, double lambda) const {
  if (is_exact()) return weights_.dot(potential);
  const Vector logs = weights_.array().log();
  const auto expm1 = [](double x) { return std::expm1(x); };
  return lambda * weights_.dot(logs) -
         tau_ * weights_.dot(((potential - lambda * logs) / -tau_).unaryExpr(expm1));
}

double Marginal::dual_gain(const Vector& potential, const Vector& change, double lambda) const {
  if (is_exact()) return weights_.dot(change);
  const auto expm1 = [](double x) { return std::expm1(x); };
  return -tau_ * wanted(potential, lambda).dot((change / -tau_).unaryExpr(expm1));
}

double Marginal::divergence(const Vector& sums, double lambda) const {
  if (is_exact()) return 0;
  double total = 0;
  for (Index i = 0; i < sums.size(); ++i) {
    const double x = sums[i], w = weights_[i];
    total += tau_ * ((x > 0 ? x * std::log(x / w) : 0) - x + w) - lambda * (x - w) * std::log(w);
  }
  return total;
}

}  // namespace remblai
