// Conjugate gradients with the diagonal as preconditioner, until a Cholesky factor is cheaper.
#include "transport/newton.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace remblai {
namespace {

// Of conjugate gradients in one Newton step.
constexpr int most_iterations = 500;

// The largest change of ln b in one step, so that entries stay far from overflow.
double longest_step(const Kernel& kernel) {
  return kernel.safe_log2() >= 100 ? 100 : 25;
}

}  // namespace

Newton::Newton(Kernel& kernel, const Marginal& rows, const Marginal& columns,
               std::function<bool()> keep_going)
    : kernel_(kernel), rows_(rows), columns_(columns), keep_going_(std::move(keep_going)) {}

void Newton::lambda_changed() {
  stale_ = factored_;
  unfactorable_ = false;
}

void Newton::step(Scaling& scaling, double error, double tolerance) {
  ++steps_;
  double slope = 0;
  const Vector x = direction(scaling, error, tolerance, slope);
  if (!(slope > 0)) return;
  const Scaling::Point before = scaling.point();
  double length = std::min(1.0, longest_step(kernel_) / x.cwiseAbs().maxCoeff());
  for (int attempt = 0; attempt < 12 && keep_going_(); ++attempt, length /= 2) {
    if (scaling.move(length * x) >= 1e-4 * length * slope - 1e-15) {
      scaling.keep_in_range();
      return;
    }
    scaling.restore(before);
  }
}

// Conjugate gradients with the preconditioner at hand, as long as that costs less than a new one.
// Whatever their end, the direction is one of ascent.
Vector Newton::direction(const Scaling& scaling, double error, double tolerance, double& slope) {
  const double lambda = scaling.lambda();
  const Vector wanted = scaling.wanted_columns(), sums = scaling.column_sums();
  Hessian hessian{
      sums + lambda * columns_.curvature() * wanted,
      rows_.power(lambda) * scaling.a().cwiseAbs2().cwiseQuotient(scaling.wanted_rows()),
      scaling.b(), rows_.is_exact() && columns_.is_exact()};
  if (!columns_.is_exact())  // a column that has vanished is left where it is
    hessian.diagonal = hessian.diagonal.cwiseMax(1e-30 * hessian.diagonal.maxCoeff());
  if (!rows_.is_exact())  // a row that has vanished, 0/0 here, does not count
    hessian.weights = hessian.weights.unaryExpr([](double w) { return std::isfinite(w) ? w : 0; });
  const Vector gradient = wanted - sums;

  // Iterations in the time of a factorisation: one reads 8 m n bytes, the other makes n^2 m + n^3/3
  // multiply-adds in float.
  const double m = static_cast<double>(rows_.size()), n = static_cast<double>(columns_.size());
  const int worth = static_cast<int>(std::min<double>(most_iterations, (n + n * n / (3 * m)) / 25));
  const double goal = std::max(std::clamp(error, 1e-3, 0.05), 0.1 * tolerance / error);
  const double enough = goal * gradient.lpNorm<1>();
  const bool may_factorise = columns_.size() <= kernel_.most_factored() && !unfactorable_;
  Vector x = Vector::Zero(columns_.size()), residual = gradient;
  const auto reached = [&](int most) { return solve(hessian, enough, most, x, residual); };
  const bool fresh = stale_ && may_factorise && factorise(hessian);
  const int patience = factored_ ? std::max(3, worth / 6) : worth;
  const bool done = may_factorise && !fresh && reached(patience);
  if (!done) {
    if (may_factorise && !fresh && !unfactorable_) factorise(hessian);
    reached(factored_ ? std::max(20, worth) : most_iterations);
  }
  slope = x.dot(gradient);
  return x;
}

// H scaled by diag^-1/2 from both sides becomes the preconditioner by its Cholesky factor. Its null
// vector, where it has one, is added as a direction. False when it is singular beyond that.
bool Newton::factorise(const Hessian& hessian) {
  stale_ = false;
  root_ = hessian.diagonal.cwiseSqrt();
  factored_ = kernel_.factorise(hessian.weights.cwiseSqrt(), hessian.b.cwiseQuotient(root_),
                                hessian.singular ? Vector(root_ / root_.norm()) : Vector());
  unfactorable_ = !factored_;
  return factored_;
}

// For H x = gradient, on from x and its residual, which it updates, until the L1 norm of the
// residual is `enough`, or for `most` iterations. With a null vector the iterates stay orthogonal
// to it, up to rounding. True when there is nothing left to do.
bool Newton::solve(const Hessian& hessian, double enough, int most, Vector& x,
                   Vector& residual) const {
  const auto vectors = kernel_.gradients(hessian, x, residual, factored_ ? &root_ : nullptr);
  const auto iterate = [&] {
    double norm = vectors->begin(enough);
    for (int k = 0; k < most; ++k) {
      if (norm <= enough || !keep_going_()) return true;
      const std::optional<double> next = vectors->step(k + 1 < most);
      if (!next) return true;
      norm = *next;
    }
    return norm <= enough;
  };
  const bool done = iterate();
  vectors->take(x, residual);
  return done;
}

}  // namespace remblai
