// The closed form of the metric step and the numbers that judge it.
#include "fit/metric_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/linalg.h"

namespace remblai {

using linalg::Op;

MetricStep::MetricStep(Index dimension, Index rank, SpanMatrix prior, Ridge ridge, double geodesic)
    : prior_(std::move(prior)),
      ridge_(std::move(ridge)),
      t_(geodesic),
      rank_(rank),
      missing_(static_cast<double>(dimension - rank)) {
  const double inside =
      prior_.inside.size() ? prior_.inside.squaredNorm() : static_cast<double>(rank_);
  prior_norm_ = std::sqrt(inside + missing_ * prior_.outside * prior_.outside);
}

LearnedMetric MetricStep::operator()(const Matrix& moment) const {
  const Matrix c = with_ridge(moment);
  const bool plain = prior_.lower.size() == 0;
  linalg::Spectrum spectrum = linalg::eigh(plain ? c : linalg::congruence(prior_.lower, c));
  LearnedMetric a;
  if (!spectrum.ok) return a;
  a.mu = std::move(spectrum.values);
  a.vectors = std::move(spectrum.vectors);
  a.ok = a.mu[0] > 1e-12 * a.mu[rank_ - 1];
  return a.ok ? weighed(std::move(a)) : a;
}

LearnedMetric MetricStep::weighed(LearnedMetric a) const {
  const bool plain = prior_.lower.size() == 0;
  const Vector root = a.mu.array().pow((t_ - 1) / 2);
  a.factor = a.vectors.transpose();
  if (!plain) a.factor = linalg::times_transposed_lower(std::move(a.factor), prior_.lower);
  a.factor = root.asDiagonal() * a.factor;
  a.prior_term = a.mu.array().pow(1 - t_).sum();
  a.ridge_term = ridge_.inside.size() ? ridge_.inside.cwiseProduct(linalg::gram(a.factor)).sum()
                                      : ridge_.outside * a.factor.squaredNorm();
  if (missing_ > 0) {
    a.outside = std::pow(ridge_.outside, t_ - 1) * std::pow(prior_.outside, t_);
    a.prior_term += missing_ * prior_.outside / a.outside;
    a.ridge_term += missing_ * ridge_.outside * a.outside;
  }
  return a;
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
  const bool plain = prior_.lower.size() == 0;
  const Vector values =
      plain ? Vector(a.mu.array().pow(t_ - 1)) : linalg::eigenvalues(linalg::gram(a.factor));
  double low = values.minCoeff(), high = values.maxCoeff();
  if (missing_ > 0) {
    low = std::min(low, a.outside);
    high = std::max(high, a.outside);
  }
  return high / low;
}

// F_b F_a^-1 has the singular values of diag(mu_b^((t-1)/2)) Q_b'Q_a diag(mu_a^((1-t)/2)).
// Outside the span every metric of one fit is the same.
double MetricStep::distance(const LearnedMetric& a, const LearnedMetric& b) const {
  const Vector left = b.mu.array().pow((t_ - 1) / 2);
  const Vector right = a.mu.array().pow((1 - t_) / 2);
  const Matrix ratio = left.asDiagonal() * linalg::multiply(b.vectors, a.vectors, Op::transpose) *
                       right.asDiagonal();
  const Vector values = linalg::eigenvalues(linalg::gram(ratio));
  return values.cwiseMax(std::numeric_limits<double>::min()).array().log().matrix().norm();
}

}  // namespace remblai
