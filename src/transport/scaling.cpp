// Moves of a scaled plan, each one pass over the kernel.
#include "transport/scaling.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "base/entrywise.h"

namespace remblai {
namespace {

// A relaxed side may send next to no mass anywhere: then small factors are right, and no reason to
// make K anew.
bool in_range(const Vector& factors, const Marginal& side, double safe_log2) {
  if (factors.size() == 0) return true;  // all rows are with other processes
  return factors.maxCoeff() < std::exp2(safe_log2) &&
         (!side.is_exact() || factors.minCoeff() > std::exp2(-safe_log2));
}

}  // namespace

Scaling::Scaling(Kernel& kernel, const Marginal& rows, const Marginal& columns)
    : kernel_(kernel), rows_(rows), columns_(columns), u_(rows.size()), a_(rows.size()) {}

void Scaling::come_home() const {
  if (!away_) return;
  away_->take(a_, b_, sums_);
  away_.reset();
}

const Vector& Scaling::a() const {
  come_home();
  return a_;
}

const Vector& Scaling::b() const {
  come_home();
  return b_;
}

Vector Scaling::column_sums() const {
  come_home();
  return b_.cwiseProduct(sums_);
}

Scaling::Point Scaling::point() const {
  come_home();
  return {u_, v_, a_, b_, sums_};
}

void Scaling::start(double lambda, const Vector& g) {
  lambda_ = lambda;
  v_ = g * (std::numbers::log2e / lambda);
  rebuild();
}

// K for the potentials v alone. A column whose sum is too small for its factor gets its potential
// from a log-sum of its own, and K is made once more.
void Scaling::rebuild() {
  away_.reset();
  b_ = Vector::Ones(columns_.size());
  for (int attempt = 0; attempt < 20; ++attempt) {
    sums_ = kernel_.rescale(lambda_, v_, u_, RowRule::meet(rows_, lambda_, u_, a_));
    if (attempt == 0 && rows_out_of_reach())
      v_.array() += rows_.shard().sum(u_) / static_cast<double>(rows_.shard().total(u_.size()));
    else if (!rescue_columns(attempt < 2))
      break;
  }
  balance();
}

// Relaxed rows under potentials v that are far too large for the costs have factors beyond any
// range. Far too small ones leave rows without mass, which is wrong where exact columns wait for
// it.
bool Scaling::rows_out_of_reach() const {
  if (rows_.is_exact()) return false;
  const double far = 3 * kernel_.safe_log2(), largest = rows_.shard().largest(a_);
  return !(largest < std::exp2(far)) || (columns_.is_exact() && largest < std::exp2(-far));
}

bool Scaling::finite() const {
  return rows_.shard().all(away_ ? seen_.in_range : a_.allFinite());
}

// A relaxed column may vanish beside the others however good its potential is, so it is rescued
// once; an exact one has mass to receive.
bool Scaling::rescue_columns(bool first) {
  if (!columns_.is_exact() && !first) return false;
  const Vector factors = columns_.factors(sums_, v_, lambda_);
  const double safe = std::exp2(kernel_.safe_log2());
  if (!(factors.maxCoeff() >= safe)) return false;
  const Vector rows = u_ + log2_of(a_);
  for (Index j = 0; j < factors.size(); ++j)
    if (factors[j] >= safe)
      v_[j] = columns_.potential(j, kernel_.log2_column_sum(j, rows), columns_.power(lambda_));
  return true;
}

// The factors that meet the columns. A relaxed column that has vanished keeps its potential: its
// sum is too small to tell anything.
Vector Scaling::next_factors() const {
  Vector factors = columns_.factors(sums_, v_, lambda_);
  if (columns_.is_exact()) return factors;
  const double vanished = std::exp2(-3 * kernel_.safe_log2());
  for (Index j = 0; j < factors.size(); ++j)
    if (sums_[j] <= vanished) factors[j] = b_[j];
  return factors;
}

// Meets the rows. Returns the constant that `balance` added to the potentials of the columns.
double Scaling::pass() {
  sums_ = kernel_.fused(b_, RowRule::meet(rows_, lambda_, u_, a_));
  return balance();
}

// One number added to all column potentials changes the mass of the plan when a side is relaxed,
// and iterations would find it very slowly where tau is large. The best one is known: with met rows
// the mass of the plan grows like exp((1 - power) t), what the columns want falls like exp(-lambda
// t/tau), and both are equal at the maximum of the dual. Returns t, in units of lambda. It goes
// from u to v, so that K stays as it is.
double Scaling::balance() {
  if (rows_.is_exact() && columns_.is_exact()) return 0;
  const double rest = 1 - rows_.power(lambda_);
  const double mass = b_.dot(sums_), wanted = wanted_columns().sum();
  const double t = std::log(wanted / mass) / (rest + lambda_ * columns_.curvature());
  if (!std::isfinite(t)) return 0;
  v_.array() += t * std::numbers::log2e;
  u_.array() -= t * std::numbers::log2e;
  a_ *= std::exp(rest * t);
  sums_ *= std::exp(rest * t);
  return t;
}

void Scaling::sinkhorn(bool more) {
  if (!away_ && rows_.is_exact() && columns_.is_exact())
    away_ = kernel_.iterations(rows_.weights(), columns_.weights(), sums_);
  if (away_) {
    seen_ = away_->step(more);
    if (seen_.in_range) return;
    v_ = columns();
    rebuild();
    return;
  }
  b_ = next_factors();
  if (!in_range(b_, columns_, kernel_.safe_log2())) {
    v_ = columns();
    rebuild();
    return;
  }
  pass();
  keep_in_range();
}

double Scaling::error() const {
  if (away_) return seen_.error;
  return columns_.error(column_sums(), columns_.is_exact() ? Vector() : g(), lambda_);
}

double Scaling::move(const Vector& change) {
  come_home();
  const Vector f_before = rows_.is_exact() ? Vector() : f();
  const Vector g_before = columns_.is_exact() ? Vector() : g();
  const Vector a_before = a_;
  b_ = b_.array() * change.array().exp();
  const double constant = pass();
  // `pass` may have moved a constant from the row potentials to those of the columns.
  const Vector row_change = lambda_ * (log_of(a_.cwiseQuotient(a_before)).array() - constant);
  const Vector column_change = lambda_ * (change.array() + constant);
  // Met rows change the mass of the plan with their dual term; together they are 1/power of it.
  return rows_.dual_gain(f_before, row_change, lambda_) / (lambda_ * rows_.power(lambda_)) +
         columns_.dual_gain(g_before, column_change, lambda_) / lambda_;
}

void Scaling::restore(Point point) {
  away_.reset();
  u_ = std::move(point.u);
  v_ = std::move(point.v);
  a_ = std::move(point.a);
  b_ = std::move(point.b);
  sums_ = std::move(point.sums);
}

void Scaling::keep_in_range() {
  come_home();
  // The largest entry of a row of K is about 1, so a is about the weight of its row.
  const bool rows = in_range(a_.cwiseQuotient(rows_.weights()), rows_, kernel_.safe_log2());
  if (rows_.shard().all(rows) && in_range(b_, columns_, kernel_.safe_log2())) return;
  v_ = columns();
  rebuild();
}

Vector Scaling::columns() const {
  come_home();
  return v_.array() + b_.array().log2();
}

Vector Scaling::next_columns() const {
  come_home();
  return v_.array() + next_factors().array().log2();
}

void Scaling::set_columns(const Vector& potentials) {
  away_.reset();
  b_ = (potentials - v_).unaryExpr([](double x) { return std::exp2(x); });
  if (in_range(b_, columns_, kernel_.safe_log2())) {
    pass();
    return;
  }
  v_ = potentials;
  rebuild();
}

Vector Scaling::f() const {
  come_home();
  return (u_ + log2_of(a_)) * (lambda_ * std::numbers::ln2);
}

Vector Scaling::g() const {
  return columns() * (lambda_ * std::numbers::ln2);
}

Vector Scaling::wanted_columns() const {
  return columns_.wanted(columns_.is_exact() ? Vector() : g(), lambda_);
}

Vector Scaling::wanted_rows() const {
  return rows_.wanted(rows_.is_exact() ? Vector() : f(), lambda_);
}

double Scaling::dual() const {
  const double mass = rows_.shard().sum(wanted_rows());
  return (rows_.dual(f(), lambda_) + columns_.dual(g(), lambda_)) / lambda_ - mass;
}

}  // namespace remblai
