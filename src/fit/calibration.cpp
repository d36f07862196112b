// Damped Newton steps in (temperature, biases), in which the log-loss is convex.
#include "fit/calibration.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/linalg.h"
#include "model/softmax.h"

namespace remblai {
namespace {

constexpr double bias_penalty = 1e-3;
constexpr double first_temperature = 5;
constexpr int most_steps = 100;

struct Loss {
  const Matrix& scores;
  const std::vector<Index>& places;
  const Vector& weights;
  const CommonRows& rows;

  // softmax of the calibrated scores; the log-loss goes to `value`.
  Matrix probabilities(const Vector& v, double& value) const {
    Matrix p = v[0] * scores;
    p.rowwise() += v.tail(v.size() - 1).transpose();
    value = rows.sum(p.rows(), 1, 1, [&](Rows some) {
      const Index count = some.end - some.begin;
      Matrix part = p.middleRows(some.begin, count);
      const double loss =
          softmax_log_loss(part, places_of(some), weights.segment(some.begin, count));
      p.middleRows(some.begin, count) = part;
      return Matrix(Matrix::Constant(1, 1, loss));
    })(0, 0);
    return p;
  }

  std::span<const Index> places_of(Rows some) const {
    return std::span(places).subspan(static_cast<std::size_t>(some.begin),
                                     static_cast<std::size_t>(some.end - some.begin));
  }

  static double penalty(const Vector& v) {
    return bias_penalty * v.tail(v.size() - 1).squaredNorm();
  }
};

struct Slope {
  Vector gradient;
  Matrix hessian;

  void hold_biases() {
    const Index k = gradient.size() - 1;
    gradient.tail(k).setZero();
    hessian.topRightCorner(1, k).setZero();
    hessian.bottomLeftCorner(k, 1).setZero();
  }
};

// The rows' part of the Hessian, with the gradient as its last column; without the penalty.
Matrix slope_part(const Matrix& scores, std::span<const Index> places, const Vector& weights,
                  const Matrix& p) {
  const Index k = p.cols();
  Matrix residual = weights.asDiagonal() * p;
  Matrix part = Matrix::Zero(k + 1, k + 2);
  auto biases = part.block(1, 1, k, k);
  biases = -linalg::multiply(p, residual, linalg::Op::transpose);
  biases.diagonal() += residual.colwise().sum();
  const Vector mean = p.cwiseProduct(scores).rowwise().sum();
  const Matrix centred = scores.colwise() - mean;
  const Vector mixed = residual.cwiseProduct(centred).colwise().sum();
  part.block(1, 0, k, 1) = mixed;
  part.block(0, 1, 1, k) = mixed.transpose();
  part(0, 0) = residual.cwiseProduct(centred.cwiseAbs2()).sum();
  for (Index i = 0; i < p.rows(); ++i)
    residual(i, places[static_cast<std::size_t>(i)]) -= weights[i];
  part(0, k + 1) = residual.cwiseProduct(scores).sum();
  part.block(1, k + 1, k, 1) = residual.colwise().sum().transpose();
  return part;
}

Slope slope_of(const Loss& loss, const Matrix& p, const Vector& v) {
  const Index k = p.cols();
  const Matrix sums = loss.rows.sum(p.rows(), k + 1, k + 2, [&](Rows some) {
    const Index count = some.end - some.begin;
    return slope_part(loss.scores.middleRows(some.begin, count), loss.places_of(some),
                      loss.weights.segment(some.begin, count), p.middleRows(some.begin, count));
  });
  Slope slope{sums.col(k + 1), sums.leftCols(k + 1)};
  slope.hessian.diagonal().tail(k).array() += 2 * bias_penalty;
  slope.gradient.tail(k) += 2 * bias_penalty * v.tail(k);
  return slope;
}

// -H^-1 g; steepest descent where H is singular to working precision.
Vector newton(const Matrix& hessian, const Vector& gradient) {
  Matrix lower;
  if (!linalg::cholesky(hessian, lower)) return -gradient;
  return -linalg::solve_lower(lower, linalg::solve_lower(lower, gradient), linalg::Op::transpose);
}

// The Newton direction. The temperature stays positive: at most nine tenths of it go in one step,
// and the biases then take the best step beside that.
Vector direction_of(Slope slope, double temperature) {
  slope.hessian(0, 0) += 1e-12 * (1 + slope.hessian(0, 0));
  Vector direction = newton(slope.hessian, slope.gradient);
  const double most = -0.9 * temperature;
  if (direction[0] >= most) return direction;
  const Index k = direction.size() - 1;
  direction[0] = most;
  direction.tail(k) = newton(slope.hessian.bottomRightCorner(k, k),
                             slope.gradient.tail(k) + most * slope.hessian.bottomLeftCorner(k, 1));
  return direction;
}

}  // namespace

Calibration calibrate(const Matrix& scores, const std::vector<Index>& places, const Vector& weights,
                      Biases biases, const CommonRows& rows) {
  const Loss loss{scores, places, weights, rows};
  Vector v = Vector::Zero(scores.cols() + 1);
  v[0] = first_temperature;
  double value = 0;
  Matrix p = loss.probabilities(v, value);
  for (int step = 0; step < most_steps; ++step) {
    Slope slope = slope_of(loss, p, v);
    if (biases == Biases::zero) slope.hold_biases();
    const double steepness = std::max(std::abs(slope.gradient[0] * v[0]),
                                      slope.gradient.tail(scores.cols()).cwiseAbs().maxCoeff());
    if (!rows.shard.all(steepness > 1e-6)) break;
    const Vector direction = direction_of(slope, v[0]);
    double length = 1;
    const double before = value + Loss::penalty(v);
    const double fall = slope.gradient.dot(direction);
    bool moved = false;
    for (int halving = 0; halving < 40 && !moved; ++halving, length /= 2) {
      const Vector next = v + length * direction;
      double next_value = 0;
      Matrix next_p = loss.probabilities(next, next_value);
      if (!rows.shard.all(next_value + Loss::penalty(next) <= before + 1e-4 * length * fall))
        continue;
      v = next;
      value = next_value;
      p = std::move(next_p);
      moved = true;
    }
    if (!moved) break;
  }
  return {v[0], v.tail(scores.cols()), value};
}

}  // namespace remblai
