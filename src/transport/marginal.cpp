// The two rules, each written once.
#include "transport/marginal.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/entrywise.h"

namespace remblai {

Marginal::Marginal(Vector weights, double tau, Shard shard)
    : weights_(std::move(weights)), tau_(tau), shard_(std::move(shard)) {
  assert(shard_.total(weights_.size()) > 0 && (weights_.array() > 0).all() && tau >= 0);
}

Marginal Marginal::exact(Vector weights, Shard shard) {
  return {std::move(weights), 0, std::move(shard)};
}

Marginal Marginal::relaxed(Vector weights, double tau, Shard shard) {
  assert(tau > 0);
  return {std::move(weights), tau, std::move(shard)};
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
  const Vector logs = log_of(weights_);
  return exp_of(logs - (potential - lambda * logs) / tau_);
}

double Marginal::error(const Vector& sums, const Vector& potential, double lambda) const {
  return shard_.norm1(sums - wanted(potential, lambda));
}

double Marginal::dual(const Vector& potential, double lambda) const {
  if (is_exact()) return shard_.dot(weights_, potential);
  const Vector logs = log_of(weights_);
  return lambda * shard_.dot(weights_, logs) -
         tau_ * shard_.dot(weights_, expm1_of((potential - lambda * logs) / -tau_));
}

double Marginal::dual_gain(const Vector& potential, const Vector& change, double lambda) const {
  if (is_exact()) return shard_.dot(weights_, change);
  return -tau_ * shard_.dot(wanted(potential, lambda), expm1_of(change / -tau_));
}

double Marginal::divergence(const Vector& sums, double lambda) const {
  if (is_exact()) return 0;
  Vector terms(sums.size());
  for (Index i = 0; i < sums.size(); ++i) {
    const double x = sums[i], w = weights_[i];
    terms[i] = tau_ * ((x > 0 ? x * std::log(x / w) : 0) - x + w) - lambda * (x - w) * std::log(w);
  }
  return shard_.sum(terms);
}

}  // namespace remblai
