// The closed form of the metric step and the numbers that judge it.
#include "fit/metric_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/engine.h"
#include "base/linalg.h"

namespace remblai {

MetricStep::MetricStep(Index dimension, Index rank, SpanMatrix prior, Ridge ridge, double geodesic)
    : prior_(std::move(prior)),
      ridge_(std::move(ridge)),
      t_(geodesic),
      rank_(rank),
      missing_(static_cast<double>(dimension - rank)) {
  const double inside =
      prior_.inside.size() ? prior_.inside.squaredNorm() : static_cast<double>(rank_);
  prior_norm_ = std::sqrt(inside + missing_ * prior_.outside * prior_.outside);
  if (!linalg::current_engine() || ridge_.inside.size()) return;
  // M >= L'E L, and the smallest eigenvalue of L'L is 1/|L^-1|^2 or more.
  least_ = ridge_.outside;
  if (prior_.lower.size() == 0) return;
  Matrix inverse = prior_.lower.transpose();
  linalg::invert_upper(inverse);
  least_ /= inverse.triangularView<Eigen::Upper>().toDenseMatrix().squaredNorm();
}

LearnedMetric MetricStep::operator()(const Matrix& moment) const {
  const Matrix c = with_ridge(moment);
  const bool plain = prior_.lower.size() == 0;
  Matrix m = plain ? c : linalg::congruence(prior_.lower, c);
  LearnedMetric a;
  linalg::FourthRoot fourth;
  if (t_ == 0.5) fourth = linalg::inverse_fourth_root(m, least_);
  if (!fourth.ok) {
    decompose(m, a);
    return a.ok ? weighed(std::move(a)) : a;
  }
  a.ok = true;
  a.weight = t_;
  a.moment = std::move(m);
  a.vectors = std::move(fourth.inverse);
  a.prior_term = fourth.trace_of_root;
  a.factor = plain ? a.vectors : linalg::times_transposed_lower(a.vectors, prior_.lower);
  add_terms(a);
  return a;
}

void MetricStep::decompose(const Matrix& m, LearnedMetric& a) const {
  linalg::Spectrum spectrum = linalg::eigh(m);
  a.ok = spectrum.ok;
  if (!a.ok) return;
  a.mu = std::move(spectrum.values);
  a.vectors = std::move(spectrum.vectors);
  a.moment.resize(0, 0);
  a.ok = a.mu[0] > 1e-12 * a.mu[rank_ - 1];
  a.factor = a.vectors.transpose();
  if (prior_.lower.size() > 0)
    a.factor = linalg::times_transposed_lower(std::move(a.factor), prior_.lower);
  a.weight = 1;
}

LearnedMetric MetricStep::weighed(LearnedMetric a) const {
  if (!a.ok || a.weight == t_) return a;
  if (a.mu.size() == 0) decompose(Matrix(a.moment), a);
  if (!a.ok) return a;
  a.factor.array().colwise() *= scale(a, a.weight, t_).array();
  a.weight = t_;
  a.prior_term = a.mu.array().pow(1 - t_).sum();
  add_terms(a);
  return a;
}

Vector MetricStep::scale(const LearnedMetric& a, double from, double to) {
  return a.mu.array().pow((to - from) / 2);
}

// What follows from the factor and the prior term inside the span.
void MetricStep::add_terms(LearnedMetric& a) const {
  a.ridge_term = ridge_.inside.size() ? ridge_.inside.cwiseProduct(linalg::gram(a.factor)).sum()
                                      : ridge_.outside * a.factor.squaredNorm();
  if (missing_ > 0) {
    a.outside = std::pow(ridge_.outside, t_ - 1) * std::pow(prior_.outside, t_);
    a.prior_term += missing_ * prior_.outside / a.outside;
    a.ridge_term += missing_ * ridge_.outside * a.outside;
  }
}

Matrix MetricStep::with_ridge(const Matrix& moment) const {
  if (ridge_.inside.size()) return moment + ridge_.inside;
  Matrix c = moment;
  c.diagonal().array() += ridge_.outside;
  return c;
}

double MetricStep::residual(const LearnedMetric& a, const Matrix& moment) const {
  if (t_ != 0.5) return std::numeric_limits<double>::quiet_NaN();
  const Matrix inside = linalg::gram(a.factor);
  Matrix difference = linalg::multiply(inside, linalg::multiply(with_ridge(moment), inside));
  if (prior_.inside.size())
    difference -= prior_.inside;
  else
    difference.diagonal().array() -= 1;
  return difference.norm() / prior_norm_;
}

double MetricStep::condition(const LearnedMetric& a) const {
  const bool plain = prior_.lower.size() == 0 && a.mu.size() > 0;
  const Vector values =
      plain ? Vector(a.mu.array().pow(t_ - 1)) : linalg::eigenvalues(linalg::gram(a.factor));
  double low = values.minCoeff(), high = values.maxCoeff();
  if (missing_ > 0) {
    low = std::min(low, a.outside);
    high = std::max(high, a.outside);
  }
  return high / low;
}

// S with S'S = M^(t-1).
Matrix MetricStep::inverse_root(const LearnedMetric& a) const {
  if (a.mu.size() == 0) return a.vectors;
  const Vector powers = a.mu.array().pow((t_ - 1) / 2);
  return powers.asDiagonal() * a.vectors.transpose();
}

// The inverse of that: M M^(-3/4) where M^(-1/4) is at hand.
Matrix MetricStep::root(const LearnedMetric& a) const {
  if (a.mu.size() > 0) {
    const Vector powers = a.mu.array().pow((1 - t_) / 2);
    return a.vectors * powers.asDiagonal();
  }
  const Matrix m = a.moment.selfadjointView<Eigen::Lower>();
  const Matrix cube = linalg::multiply(linalg::multiply(a.vectors, a.vectors), a.vectors);
  return linalg::multiply(m, cube);
}

// F_b F_a^-1 has the singular values of M_b^((t-1)/2) M_a^((1-t)/2). Outside the span every metric
// of one fit is the same.
double MetricStep::distance(const LearnedMetric& a, const LearnedMetric& b) const {
  const Matrix ratio = linalg::multiply(inverse_root(b), root(a));
  const Vector values = linalg::eigenvalues(linalg::gram(ratio));
  return values.cwiseMax(std::numeric_limits<double>::min()).array().log().matrix().norm();
}

}  // namespace remblai
