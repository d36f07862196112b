// Conjugate gradients with the diagonal as preconditioner, until a Cholesky factor is cheaper.
#include "transport/newton.h"

#include <algorithm>
#include <cmath>
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

// The Hessian at one point: diagonal - diag(b) K' diag(weights) K diag(b).
struct Newton::System {
  Vector diagonal, weights, b;

  Vector times(const Kernel& kernel, const Vector& x) const {
    return diagonal.cwiseProduct(x) -
           b.cwiseProduct(kernel.fused(b.cwiseProduct(x), RowRule::weigh(weights)));
  }
};

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
  System system{sums + lambda * columns_.curvature() * wanted,
                rows_.power(lambda) * scaling.a().cwiseAbs2().cwiseQuotient(scaling.wanted_rows()),
                scaling.b()};
  if (!columns_.is_exact())  // a column that has vanished is left where it is
    system.diagonal = system.diagonal.cwiseMax(1e-30 * system.diagonal.maxCoeff());
  if (!rows_.is_exact())  // a row that has vanished, 0/0 here, does not count
    system.weights = system.weights.unaryExpr([](double w) { return std::isfinite(w) ? w : 0; });
  const Vector gradient = wanted - sums;

  // Iterations in the time of a factorisation: one reads 8 m n bytes, the other makes n^2 m + n^3/3
  // multiply-adds in float.
  const double m = static_cast<double>(rows_.size()), n = static_cast<double>(columns_.size());
  const int worth = static_cast<int>(std::min<double>(most_iterations, (n + n * n / (3 * m)) / 25));
  const double goal = std::max(std::clamp(error, 1e-3, 0.05), 0.1 * tolerance / error);
  const double enough = goal * gradient.lpNorm<1>();
  const bool may_factorise = columns_.size() <= kernel_.most_factored() && !unfactorable_;
  Vector x = Vector::Zero(columns_.size()), residual = gradient;
  const auto reached = [&](int most) { return solve(system, enough, most, x, residual); };
  const bool fresh = stale_ && may_factorise && factorise(system);
  const int patience = factored_ ? std::max(3, worth / 6) : worth;
  const bool done = may_factorise && !fresh && reached(patience);
  if (!done) {
    if (may_factorise && !fresh && !unfactorable_) factorise(system);
    reached(factored_ ? std::max(20, worth) : most_iterations);
  }
  slope = x.dot(gradient);
  return x;
}

// H scaled by diag^-1/2 from both sides becomes the preconditioner by its Cholesky factor. Its null
// vector, where it has one, is added as a direction. False when it is singular beyond that.
bool Newton::factorise(const System& system) {
  stale_ = false;
  root_ = system.diagonal.cwiseSqrt();
  const bool singular = rows_.is_exact() && columns_.is_exact();
  factored_ = kernel_.factorise(system.weights.cwiseSqrt(), system.b.cwiseQuotient(root_),
                                singular ? Vector(root_ / root_.norm()) : Vector());
  unfactorable_ = !factored_;
  return factored_;
}

// For H x = gradient, on from x and its residual, which it updates, until the L1 norm of the
// residual is `enough`, or for `most` iterations. With a null vector the iterates stay orthogonal
// to it, up to rounding. True when there is nothing left to do.
bool Newton::solve(const System& system, double enough, int most, Vector& x,
                   Vector& residual) const {
  Vector jacobi;
  if (!factored_)
    jacobi = (system.diagonal -
              system.b.cwiseAbs2().cwiseProduct(kernel_.squares_transpose_times(system.weights)))
                 .cwiseMax(1e-6 * system.diagonal);
  const auto preconditioned = [&](const Vector& y) -> Vector {
    if (!factored_) return y.cwiseQuotient(jacobi);
    return kernel_.precondition(y.cwiseQuotient(root_)).cwiseQuotient(root_);
  };
  Vector z = preconditioned(residual);
  Vector d = z;
  double rho = residual.dot(z);
  for (int k = 0; k < most; ++k) {
    if (residual.lpNorm<1>() <= enough) return true;
    if (!keep_going_()) return true;
    const Vector product = system.times(kernel_, d);
    const double curvature = d.dot(product);
    if (!(curvature > 0)) return true;
    const double length = rho / curvature;
    x += length * d;
    residual -= length * product;
    z = preconditioned(residual);
    const double next = residual.dot(z);
    d = z + (next / rho) * d;
    rho = next;
  }
  return residual.lpNorm<1>() <= enough;
}

}  // namespace remblai
