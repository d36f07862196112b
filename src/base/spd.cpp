// Functions, geometric means and affine-invariant geometry of symmetric positive definite matrices.
// Means and distances take the SVD of a product of Cholesky factors, never of the matrices.
#include "remblai/spd.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/linalg.h"
#include "remblai/error.h"

namespace remblai::spd {
namespace {

using linalg::Op;

/// The symmetric part of `a`, which must be square, finite and symmetric to rounding.
Matrix symmetric(const Matrix& a, std::string_view name) {
  if (a.rows() != a.cols() || a.rows() == 0) {
    throw Error({.field = std::string(name),
                 .value = fmt::format("{} x {},", a.rows(), a.cols()),
                 .problem = "but a square matrix with at least one row is needed"});
  }
  Index row = 0;
  Index column = 0;
  if (!a.allFinite()) {
    a.unaryExpr([](double v) { return std::isfinite(v) ? 0.0 : 1.0; }).maxCoeff(&row, &column);
    throw Error({.field = std::string(name),
                 .value = fmt::format("{}", a(row, column)),
                 .problem = fmt::format("at row {}, column {} (counted from 1), but only finite "
                                        "numbers can be used",
                                        row + 1, column + 1)});
  }
  const double skew = (0.5 * a - 0.5 * a.transpose()).cwiseAbs().maxCoeff(&row, &column);
  if (skew > 0.5e-8 * a.cwiseAbs().maxCoeff()) {
    throw Error({.field = std::string(name),
                 .problem = fmt::format("not symmetric, {:.10g} at row {}, column {} (counted from "
                                        "1) but {:.10g} mirrored",
                                        a(row, column), row + 1, column + 1, a(column, row)),
                 .remedy = "average it with its transpose"});
  }
  return 0.5 * a + 0.5 * a.transpose();
}

[[noreturn]] void reject(std::string_view name, const Vector& eigenvalues) {
  if (eigenvalues.size() == 0) {
    throw Error({.field = std::string(name),
                 .problem = "its eigenvalues could not be found",
                 .remedy = "rescale it"});
  }
  const double smallest = eigenvalues.minCoeff();
  using Limits = std::numeric_limits<double>;
  const double rounding = Limits::epsilon() * eigenvalues.cwiseAbs().sum() + Limits::min();
  const double ridge = std::max(0.0, -smallest) + rounding;
  throw Error(
      {.field = std::string(name),
       .problem = fmt::format("not positive definite, smallest eigenvalue {:.6g}", smallest),
       .remedy =
           fmt::format("add a ridge (a multiple of the identity larger than {:.6g})", ridge)});
}

/// Lower Cholesky factor of a checked matrix.
Matrix factor(const Matrix& a, std::string_view name) {
  const Matrix checked = symmetric(a, name);
  Matrix lower;
  if (!linalg::cholesky(checked, lower)) reject(name, linalg::eigenvalues(checked));
  return lower;
}

linalg::Spectrum spectrum_of(const Matrix& a, std::string_view name, bool positive = true) {
  linalg::Spectrum spectrum = linalg::eigh(symmetric(a, name));
  if (!spectrum.ok) reject(name, {});
  if (positive && !(spectrum.values(0) > 0.0)) reject(name, spectrum.values);
  return spectrum;
}

linalg::Svd decompose(const Matrix& a, std::string_view name) {
  linalg::Svd result = linalg::svd(a);
  if (!result.ok || !(result.values.minCoeff() > 0.0)) {
    throw Error({.field = std::string(name),
                 .problem = "too close to singular together",
                 .remedy = "add a ridge (a multiple of the identity) to both"});
  }
  return result;
}

void require_finite(double value, std::string_view name) {
  if (!std::isfinite(value)) {
    throw Error({.field = std::string(name),
                 .value = fmt::format("{},", value),
                 .problem = "but a finite number is needed"});
  }
}

void require_same_order(const Matrix& a, std::string_view name_a, const Matrix& b,
                        std::string_view name_b) {
  if (a.rows() != b.rows()) {
    throw Error({.field = std::string(name_b),
                 .value = fmt::format("order {},", b.rows()),
                 .problem = fmt::format("but {} has order {}", name_a, a.rows()),
                 .remedy = "the same order is needed"});
  }
}

/// The Cholesky factor of A and the SVD of L_A^-1 L_B, whose squared values are those of A^-1 B.
struct Relative {
  Matrix lower;
  linalg::Svd svd;
};

Relative relative(const Matrix& a, const Matrix& b) {
  require_same_order(a, "matrix a", b, "matrix b");
  Matrix lower = factor(a, "matrix a");
  linalg::Svd svd =
      decompose(linalg::solve_lower(lower, factor(b, "matrix b")), "matrices a and b");
  return {std::move(lower), std::move(svd)};
}

/// Eigenvalues of a result that is to be SPD must be positive numbers a double can hold.
void require_range(const Vector& values, std::string_view name) {
  if (!(values.minCoeff() > 0.0) || !values.allFinite()) {
    throw Error({.field = std::string(name),
                 .problem = fmt::format(
                     "the result leaves the range of double, with values {:.3g} to {:.3g}",
                     values.minCoeff(), values.maxCoeff()),
                 .remedy = "rescale the argument or use a smaller exponent"});
  }
}

// By libm: Eigen's vector exp saturates where it should overflow.
Vector exp_of(const Vector& values) {
  return values.unaryExpr([](double v) { return std::exp(v); });
}

Vector log_of(const Vector& values) {
  return values.unaryExpr([](double v) { return std::log(v); });
}

Vector power_of(const Vector& values, double exponent) {
  return values.unaryExpr([=](double v) { return std::pow(v, exponent); });
}

/// Q diag(values) Q', symmetric to the last bit.
Matrix rebuild(const Matrix& vectors, const Vector& values) {
  const Matrix scaled = vectors * values.asDiagonal();
  const Matrix product = linalg::multiply(scaled, vectors, Op::none, Op::transpose);
  return 0.5 * product + 0.5 * product.transpose();
}

/// L W diag(s^2) W' L', symmetric to the last bit and indefinite by rounding at most.
Matrix square(const Matrix& lower, const Matrix& vectors, const Vector& scales) {
  require_range(scales, "mean");
  const Matrix scaled = vectors * scales.asDiagonal();
  Matrix result = linalg::gram(linalg::multiply(scaled, lower, Op::transpose, Op::transpose));
  require_range(result.diagonal(), "mean");
  return result;
}

/// What a point M = L L' sees of the matrices: the mean of their logarithms at M (minus the
/// gradient of half the mean squared distance), that mean squared distance, and a bound of its
/// Hessian.
struct View {
  Matrix direction;
  double value = 0.0;
  double stiffness = 0.0;
};

View look(const Matrix& lower, const std::vector<Matrix>& factors) {
  const double share = 1.0 / static_cast<double>(factors.size());
  View view{Matrix::Zero(lower.rows(), lower.rows())};
  for (const Matrix& other : factors) {
    const linalg::Svd svd = decompose(linalg::solve_lower(lower, other), "matrices");
    const Vector logs = 2.0 * log_of(svd.values);
    const double spread = 0.5 * (logs.maxCoeff() - logs.minCoeff());
    view.direction += share * rebuild(svd.u, logs);
    view.value += share * logs.squaredNorm();
    view.stiffness += share * (spread > 1e-4 ? spread / std::tanh(spread) : 1.0);
  }
  return view;
}

}  // namespace

void require(const Matrix& a, std::string_view name) {
  factor(a, name);
}

Matrix power(const Matrix& a, double exponent) {
  require_finite(exponent, "exponent");
  const linalg::Spectrum spectrum = spectrum_of(a, "matrix");
  const Vector values = power_of(spectrum.values, exponent);
  require_range(values, "power");
  return rebuild(spectrum.vectors, values);
}

Matrix sqrt(const Matrix& a) {
  return power(a, 0.5);
}

Matrix inverse_sqrt(const Matrix& a) {
  return power(a, -0.5);
}

Matrix log(const Matrix& a) {
  const linalg::Spectrum spectrum = spectrum_of(a, "matrix");
  return rebuild(spectrum.vectors, log_of(spectrum.values));
}

Matrix exp(const Matrix& s) {
  const linalg::Spectrum spectrum = spectrum_of(s, "matrix", false);
  const Vector values = exp_of(spectrum.values);
  require_range(values, "exp");
  return rebuild(spectrum.vectors, values);
}

Matrix inverse(const Matrix& a) {
  const Matrix lower = factor(a, "matrix");
  return linalg::gram(linalg::solve_lower(lower, Matrix::Identity(a.rows(), a.rows())));
}

Matrix geometric_mean(const Matrix& a, const Matrix& b, double t) {
  require_finite(t, "t");
  const auto [lower, svd] = relative(a, b);
  return square(lower, svd.u, power_of(svd.values, t));
}

Matrix geodesic(const Matrix& a, const Matrix& b, double t) {
  return geometric_mean(a, b, t);
}

Matrix riccati(const Matrix& c, const Matrix& d, double t) {
  require_finite(t, "t");
  require_same_order(c, "matrix c", d, "matrix d");
  const Matrix lower = factor(d, "matrix d");
  const linalg::Svd svd =
      decompose(linalg::multiply(factor(c, "matrix c"), lower, Op::transpose), "matrices c and d");
  return square(lower, svd.v, power_of(svd.values, t - 1.0));
}

double distance(const Matrix& a, const Matrix& b) {
  return 2.0 * log_of(relative(a, b).svd.values).norm();
}

Matrix karcher_mean(const std::vector<Matrix>& matrices, double tolerance, int max_iterations) {
  if (matrices.empty())
    throw Error({.field = "matrices", .problem = "none given, but at least one is needed"});
  if (!(tolerance > 0.0) || max_iterations < 1) {
    throw Error({.field = "karcher_mean",
                 .value = fmt::format("tolerance {}, max_iterations {}", tolerance, max_iterations),
                 .remedy = "both must be positive"});
  }
  const Index order = matrices.front().rows();
  Matrix start = Matrix::Zero(order, order);
  std::vector<Matrix> factors;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const std::string name = fmt::format("matrices[{}]", i);
    require_same_order(matrices.front(), "matrices[0]", matrices[i], name);
    factors.push_back(factor(matrices[i], name));
    const linalg::Spectrum spectrum = spectrum_of(matrices[i], name);
    start += rebuild(spectrum.vectors, log_of(spectrum.values));
  }
  Matrix mean = exp(start / static_cast<double>(matrices.size()));
  Matrix lower = factor(mean, "matrices");
  View here = look(lower, factors);
  // Optimal for a Hessian between 1 and `stiffness`; halved where that local bound was too bold.
  double step = 2.0 / (1.0 + here.stiffness);
  for (int i = 0; i < max_iterations && step > 1e-3; ++i) {
    const double gradient = here.direction.norm();
    if (gradient <= tolerance * std::max(1.0, std::sqrt(here.value))) break;
    const linalg::Spectrum move = spectrum_of(here.direction, "matrices", false);
    const Matrix next = square(lower, move.vectors, exp_of(0.5 * step * move.values));
    const Matrix next_lower = factor(next, "matrices");
    View there = look(next_lower, factors);
    if (there.value >= here.value && there.direction.norm() >= gradient) {
      step *= 0.5;
      continue;
    }
    mean = next;
    lower = next_lower;
    here = std::move(there);
    step = 2.0 / (1.0 + here.stiffness);
  }
  return mean;
}

}  // namespace remblai::spd
