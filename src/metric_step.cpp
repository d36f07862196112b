// The closed form of the metric step and the numbers that judge it.
#include "metric_step.h"

#include <cmath>
#include <limits>

#include "linalg.h"

namespace remblai {

using linalg::Op;

MetricStep::MetricStep(const Space& space, double ridge, double geodesic)
    : prior_(space.reference),
      ridge_(ridge),
      t_(geodesic),
      rank_(space.rank()),
      missing_(static_cast<double>(space.dimension() - space.rank())) {
  const double inside =
      prior_.inside.size() ? prior_.inside.squaredNorm() : static_cast<double>(rank_);
  prior_norm_ = std::sqrt(inside + missing_ * prior_.outside * prior_.outside);
}

LearnedMetric MetricStep::operator()(const Matrix& moment) const {
  Matrix c = moment;
  c.diagonal().array() += ridge_;
  const bool plain = prior_.lower.size() == 0;
  linalg::Spectrum spectrum = linalg::eigh(
      plain ? c : linalg::multiply(prior_.lower, linalg::multiply(c, prior_.lower), Op::transpose));
  LearnedMetric a;
  if (!spectrum.ok) return a;
  a.mu = std::move(spectrum.values);
  a.vectors = std::move(spectrum.vectors);
  const double largest = a.mu[rank_ - 1];
  if (!(a.mu[0] > 1e-15 * largest)) return a;
  a.ok = true;

  const Vector root = a.mu.array().pow((t_ - 1) / 2);
  // Q diag(root) Q' L'
  const Matrix half =
      linalg::multiply(a.vectors * root.asDiagonal(), a.vectors, Op::none, Op::transpose);
  a.factor = plain ? half : linalg::multiply(half, prior_.lower, Op::none, Op::transpose);
  const Matrix inside = linalg::gram(a.factor);

  const Vector plain_values = root.cwiseAbs2();
  double low = 1, high = 1;
  if (missing_ > 0) {
    a.outside = std::pow(ridge_, t_ - 1) * std::pow(prior_.outside, t_);
    a.prior_term = missing_ * prior_.outside / a.outside;
    a.trace = missing_ * a.outside;
    low = high = a.outside;
  }
  a.prior_term += a.mu.array().pow(1 - t_).sum();
  a.trace += inside.trace();
  const Vector values = plain ? Vector(plain_values.reverse()) : linalg::eigenvalues(inside);
  if (values.size()) {
    low = missing_ > 0 ? std::min(low, values[0]) : values[0];
    high = missing_ > 0 ? std::max(high, values[rank_ - 1]) : values[rank_ - 1];
  }
  a.condition = high / low;

  Matrix difference = linalg::multiply(inside, linalg::multiply(c, inside));
  if (plain)
    difference.diagonal().array() -= 1;
  else
    difference -= prior_.inside;
  a.residual =
      t_ == 0.5 ? difference.norm() / prior_norm_ : std::numeric_limits<double>::quiet_NaN();
  return a;
}

// F_b F_a^-1 has the singular values of diag(mu_b^((t-1)/2)) Q_b'Q_a diag(mu_a^((1-t)/2)).
MetricChange MetricStep::change(const LearnedMetric& a, const LearnedMetric& b) const {
  const Vector left = b.mu.array().pow((t_ - 1) / 2);
  const Vector right = a.mu.array().pow((1 - t_) / 2);
  const Matrix ratio = left.asDiagonal() * linalg::multiply(b.vectors, a.vectors, Op::transpose) *
                       right.asDiagonal();
  const Vector values = linalg::eigenvalues(linalg::gram(ratio));
  const double tiny = std::numeric_limits<double>::min();
  const Vector logs = values.cwiseMax(tiny).array().log();
  // Outside the span every metric of one fit is the same.
  return {logs.norm(), logs.cwiseAbs().maxCoeff()};
}

}  // namespace remblai
