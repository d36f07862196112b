// The gap between the value of a feasible plan near P = exp((f + g - c)/lambda) and the dual at (f,
// g).
#include "transport/certificate.h"

#include <algorithm>
#include <cmath>

#include "base/entrywise.h"

namespace remblai {
namespace {

double x_log_x(double x) {
  return x > 0 ? x * std::log(x) : 0;
}

// Two exact sides. P is rounded onto the plans with these marginals: rows and columns scaled down
// by x and y, then the missing mass alpha beta'/tau added. The gap of the rounded plan is lambda
// KL(rounded | P), bounded from above by the log-sum inequality, which needs no logarithm of a
// matrix.
double balanced_gap(const Kernel& kernel, const Marginal& rows, const Vector& q, double lambda,
                    const Potentials& potentials, const Kernel::Sums& sums) {
  const Vector& p = rows.weights();
  const Shard& shard = rows.shard();
  const Vector x = p.cwiseQuotient(sums.rows).cwiseMin(1);
  const Vector scaled_columns = kernel.transpose_times(x);
  const Vector y = q.cwiseQuotient(scaled_columns).cwiseMin(1);
  const Vector kept_rows = x.cwiseProduct(kernel.times(y));
  const Vector kept_columns = scaled_columns.cwiseProduct(y);
  const Vector alpha = (p - kept_rows).cwiseMax(0);
  const Vector beta = (q - kept_columns).cwiseMax(0);
  const double tau = std::min(shard.sum(alpha), beta.sum());
  double divergence =
      shard.dot(kept_rows, log_of(x)) + kept_columns.dot(log_of(y)) + shard.sum(sums.rows) - 1;
  if (tau > 0 && tau < 1) {
    const double moved_cost = kernel.between(alpha, beta) / tau;
    divergence += -x_log_x(1 - tau) + shard.sum(alpha.unaryExpr(&x_log_x)) +
                  beta.unaryExpr(&x_log_x).sum() - 2 * x_log_x(tau) -
                  (shard.dot(alpha, potentials.f) + beta.dot(potentials.g) - moved_cost) / lambda;
  }
  return lambda * divergence;
}

// The gap of Fenchel's inequality between the sums of a relaxed side and its potential.
double relaxed_gap(const Marginal& side, const Vector& sums, const Vector& potential,
                   double lambda) {
  return side.shard().dot(sums, potential) + side.divergence(sums, lambda) -
         side.dual(potential, lambda);
}

// lambda KL(weights | sums): what scaling P onto one exact side costs.
double scaling_gap(const Marginal& side, const Vector& sums, double lambda) {
  const Vector& w = side.weights();
  const Shard& shard = side.shard();
  return lambda * (shard.dot(w, log_of(w.cwiseQuotient(sums))) - shard.sum(w) + shard.sum(sums));
}

double gap_of(const Kernel& kernel, const Marginal& rows, const Marginal& columns, double lambda,
              const Potentials& potentials, const Kernel::Sums& sums) {
  if (rows.is_exact() && columns.is_exact())
    return balanced_gap(kernel, rows, columns.weights(), lambda, potentials, sums);
  if (rows.is_exact())
    return scaling_gap(rows, sums.rows, lambda) +
           relaxed_gap(columns, kernel.transpose_times(rows.weights().cwiseQuotient(sums.rows)),
                       potentials.g, lambda);
  if (columns.is_exact())
    return scaling_gap(columns, sums.columns, lambda) +
           relaxed_gap(rows, kernel.times(Vector(columns.weights().cwiseQuotient(sums.columns))),
                       potentials.f, lambda);
  return relaxed_gap(rows, sums.rows, potentials.f, lambda) +
         relaxed_gap(columns, sums.columns, potentials.g, lambda);
}

}  // namespace

Kernel::Sums certify(Kernel& kernel, const Marginal& rows, const Marginal& columns, double lambda,
                     const Potentials& potentials, double tolerance, TransportResult& result) {
  const Vector& f = potentials.f;
  const Vector& g = potentials.g;
  const Kernel::Sums sums = kernel.fix(lambda, f, g);
  const Shard& shard = rows.shard();
  const double mass = shard.sum(sums.rows), whole = shard.sum(rows.weights());
  result.cost = sums.cost;
  // ln P = (f + g - c)/lambda
  result.entropy = (sums.cost - shard.dot(sums.rows, f) - sums.columns.dot(g)) / lambda;
  result.mass = mass;
  result.source_error = rows.error(sums.rows, f, lambda);
  result.target_error = columns.error(sums.columns, g, lambda);
  result.dual = rows.dual(f, lambda) + columns.dual(g, lambda) + lambda * (whole - mass);
  const bool balanced = rows.is_exact() && columns.is_exact();
  if (!balanced)
    result.relaxation = rows.divergence(sums.rows, lambda) +
                        columns.divergence(sums.columns, lambda) + lambda * (whole - mass);
  const double gap = gap_of(kernel, rows, columns, lambda, potentials, sums);
  result.gap = gap < 0 ? 0 : gap;  // NaN stays NaN
  result.by_kind = kernel.counts();
  result.passes = result.by_kind.all();
  // Rounding of the potentials may add its share to what the iterations reached.
  const double limit = tolerance + 1e-11;
  result.converged =
      result.converged && result.source_error <= limit && result.target_error <= limit;
  return sums;
}

}  // namespace remblai
