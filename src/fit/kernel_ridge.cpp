// Exact systems by Cholesky factors, large ones through landmarks.
#include "fit/kernel_ridge.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/linalg.h"
#include "model/gaussian.h"

namespace remblai {
namespace {

using linalg::Op;

// The landmarks' own kernel may be singular to working precision, where two lie in one place.
constexpr double jitter = 1e-10;

}  // namespace

std::vector<Index> even_sample(Index size, Index count) {
  std::vector<Index> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  if (count >= size) return order;
  std::mt19937_64 generator(1);
  for (Index k = 0; k < count; ++k) {
    const auto rest = static_cast<std::uint64_t>(size - k);
    std::swap(order[static_cast<std::size_t>(k)],
              order[static_cast<std::size_t>(k) + generator() % rest]);
  }
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

KernelRidge::KernelRidge(const Matrix& points, Index landmarks) : points_(points) {
  if (points.rows() <= landmarks) {
    distances_ = squared_distances(points);
    return;
  }
  places_ = even_sample(points.rows(), landmarks);
  support_ = points(places_, Eigen::all);
  distances_ = squared_distances(points, support_);
}

void KernelRidge::set_width(double width) {
  if (width_ == 2 * width) {
    kernel_.array() *= kernel_.array();
  } else {
    kernel_ = distances_;
    gaussian(kernel_, width);
  }
  width_ = width;
}

KernelFit KernelRidge::fit(const Matrix& targets, const Vector& weights, double smoothing,
                           Index judged) const {
  return support_.size() ? landmark_fit(targets, weights, smoothing, judged)
                         : exact_fit(targets, weights, smoothing, judged);
}

// With H = (K + diag(smoothing/w))^-1 the coefficients are H T, and without point i the value there
// is T_i - (H T)_i / H_ii. The last rows of H need only the last block of the factor.
KernelFit KernelRidge::exact_fit(const Matrix& targets, const Vector& weights, double smoothing,
                                 Index judged) const {
  Matrix lower = kernel_;
  lower.diagonal() += smoothing * weights.cwiseInverse();
  KernelFit fit;
  // Its smallest eigenvalue is that of the ridge, far above rounding.
  if (!linalg::cholesky_in_place(lower)) return fit;
  fit.coefficients = linalg::solve_lower(lower, linalg::solve_lower(lower, targets), Op::transpose);
  Matrix inverse = lower.bottomRightCorner(judged, judged);
  linalg::invert_lower(inverse);
  Vector diagonal = Vector::Zero(judged);
  for (Index j = 0; j < judged; ++j)
    diagonal.head(j + 1) += inverse.row(j).head(j + 1).cwiseAbs2().transpose();
  fit.left_out = targets.bottomRows(judged) -
                 diagonal.cwiseInverse().asDiagonal() * fit.coefficients.bottomRows(judged);
  return fit;
}

// With features phi_i = L^-1 k(landmarks, u_i), L L' = k(landmarks, landmarks), it is a linear
// regression: B = Phi' W Phi + smoothing I, f = Phi B^-1 Phi' W T. A point's leverage
// h_i = w_i phi_i' B^-1 phi_i gives the value without it, T_i - (T_i - f_i)/(1 - h_i).
KernelFit KernelRidge::landmark_fit(const Matrix& targets, const Vector& weights, double smoothing,
                                    Index judged) const {
  Matrix own = kernel_(places_, Eigen::all);
  own.diagonal().array() += jitter;
  Matrix root, lower;
  KernelFit fit;
  if (!linalg::cholesky(own, root)) return fit;
  const Matrix features = linalg::solve_lower(root, kernel_.transpose());  // one column a point
  const Matrix weighted = features * weights.asDiagonal();
  Matrix normal = linalg::multiply(weighted, features, Op::none, Op::transpose);
  normal.diagonal().array() += smoothing;
  if (!linalg::cholesky(normal, lower)) return fit;
  const Matrix right = linalg::multiply(weighted, targets);
  const Matrix beta = linalg::solve_lower(lower, linalg::solve_lower(lower, right), Op::transpose);
  fit.coefficients = linalg::solve_lower(root, beta, Op::transpose);
  const Matrix own_features = features.rightCols(judged);
  const Matrix values = linalg::multiply(own_features, beta, Op::transpose);
  const Vector leverage =
      weights.tail(judged).array() *
      linalg::solve_lower(lower, own_features).colwise().squaredNorm().transpose().array();
  const Vector rest = (1 - leverage.array()).max(1e-12);
  const Matrix residual = targets.bottomRows(judged) - values;
  fit.left_out = targets.bottomRows(judged) - rest.cwiseInverse().asDiagonal() * residual;
  fit.missed = std::max(0.0, 1 - features.colwise().squaredNorm().mean());
  return fit;
}

}  // namespace remblai
