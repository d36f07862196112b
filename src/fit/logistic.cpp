// Newton steps with conjugate gradients; the last row of the unknowns holds the biases.
#include "fit/logistic.h"

#include <cmath>

#include "base/linalg.h"
#include "model/softmax.h"

namespace remblai {
namespace {

using linalg::Op;

struct Objective {
  const Matrix& x;  // with a column of ones
  const std::vector<Index>& places;
  Vector weights;  // m w_i

  // The value; the probabilities go to `p`.
  double operator()(const Matrix& v, Matrix& p) const {
    p = linalg::multiply(x, v);
    return 0.5 * v.topRows(v.rows() - 1).squaredNorm() + softmax_log_loss(p, places, weights);
  }

  Matrix gradient(const Matrix& v, const Matrix& p) const {
    Matrix residual = p;
    for (Index i = 0; i < p.rows(); ++i) residual(i, places[static_cast<std::size_t>(i)]) -= 1;
    return penalised(v, weights.asDiagonal() * residual);
  }

  Matrix hessian_times(const Matrix& d, const Matrix& p) const {
    const Matrix change = linalg::multiply(x, d);
    const Vector mean = p.cwiseProduct(change).rowwise().sum();
    return penalised(d, weights.asDiagonal() * p.cwiseProduct(change.colwise() - mean));
  }

 private:
  Matrix penalised(const Matrix& v, const Matrix& by_point) const {
    Matrix result = linalg::multiply(x, by_point, Op::transpose);
    result.topRows(v.rows() - 1) += v.topRows(v.rows() - 1);
    return result;
  }
};

double dot(const Matrix& a, const Matrix& b) {
  return a.cwiseProduct(b).sum();
}

// An approximate solution of H d = -gradient.
Matrix newton_direction(const Objective& objective, const Matrix& p, const Matrix& gradient) {
  Matrix d = Matrix::Zero(gradient.rows(), gradient.cols());
  Matrix residual = -gradient, step = residual;
  double size = dot(residual, residual);
  const double enough = 1e-4 * size;
  for (int k = 0; k < 100 && size > enough; ++k) {
    const Matrix product = objective.hessian_times(step, p);
    const double curvature = dot(step, product);
    if (!(curvature > 0)) break;
    const double length = size / curvature;
    d += length * step;
    residual -= length * product;
    const double next = dot(residual, residual);
    step = residual + next / size * step;
    size = next;
  }
  return d;
}

}  // namespace

LogisticModel fit_logistic(const Matrix& points, const std::vector<Index>& places,
                           const Vector& weights, Index classes) {
  const Index m = points.rows(), r = points.cols();
  Matrix x(m, r + 1);
  x << points, Vector::Ones(m);
  const Objective objective{x, places, static_cast<double>(m) * weights};
  Matrix v = Matrix::Zero(r + 1, classes), p;
  double value = objective(v, p), first = 0;
  for (int step = 0; step < 50; ++step) {
    const Matrix gradient = objective.gradient(v, p);
    const double size = gradient.norm();
    if (step == 0) first = size;
    if (!(size > 1e-5 * first)) break;
    const Matrix d = newton_direction(objective, p, gradient);
    const double fall = dot(gradient, d);
    bool moved = false;
    for (double length = 1; length > 1e-10 && !moved; length /= 2) {
      Matrix next_p;
      const Matrix next = v + length * d;
      const double next_value = objective(next, next_p);
      if (!(next_value <= value + 1e-4 * length * fall)) continue;
      v = next;
      p = next_p;
      value = next_value;
      moved = true;
    }
    if (!moved) break;
  }
  return {v.topRows(r), v.row(r)};
}

}  // namespace remblai
