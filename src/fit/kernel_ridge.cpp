// Exact systems by Cholesky factors, large ones through landmarks.
#include "fit/kernel_ridge.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "base/linalg.h"
#include "model/gaussian.h"

namespace remblai {
namespace {

using linalg::Op;

// The landmarks' own kernel may be singular to working precision, where two lie in one place.
constexpr double jitter = 1e-10;

// What a row has of the upper triangle.
auto from_diagonal(Matrix& square, Index row) {
  return square.row(row).tail(square.cols() - row);
}

}  // namespace

double landmark_bytes(double landmarks, double points) {
  return 8 * (8 * landmarks + 3 * std::min<double>(points, rows_at_a_time)) * landmarks;
}

int landmarks_within(double bytes, int wanted, double points) {
  const double needed = points <= wanted ? exact_bytes(points) : landmark_bytes(wanted);
  if (needed <= bytes) return wanted;
  double fits = 10, too_many = std::max(wanted, 10) + 1;
  while (too_many - fits > 1) {
    const double middle = std::floor((fits + too_many) / 2);
    (landmark_bytes(middle) <= bytes ? fits : too_many) = middle;
  }
  return static_cast<int>(fits);
}

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

KernelRidge::KernelRidge(const Matrix& points, Index landmarks, Matrix distances, CommonRows rows)
    : points_(points),
      rows_(std::move(rows)),
      exact_(rows_.total(points.rows()) <= landmarks),
      distances_(std::move(distances)) {
  if (!exact_)
    support_ = rows_.rows_of(points, even_sample(rows_.total(points.rows()), landmarks));
  else if (rows_.divided())
    support_ = rows_.united(points);
}

void KernelRidge::make_kernel() {
  if (distances_.size() == 0) distances_ = squared_distances(support());
  if (kernel_width_ == 2 * width_) {
    for (Index i = 0; i < kernel_.rows(); ++i)
      from_diagonal(kernel_, i).array() *= from_diagonal(kernel_, i).array();
  } else if (kernel_width_ != width_) {
    kernel_ = upper_gaussian(distances_, width_);
  }
  kernel_width_ = width_;
}

// Points go there, and coefficients come back. A system that the engine finds singular is tried by
// the processor, which finds the same.
bool KernelRidge::fit_on_engine(const Matrix& targets, const Vector& weights, double smoothing,
                                Index judged, const Pulse& pulse, KernelFit& fit) const {
  linalg::Engine* engine = rows_.divided() ? nullptr : linalg::current_engine();
  const auto n = static_cast<double>(points_.rows()), size = static_cast<double>(support().rows());
  const double work = exact_ ? n * n * n : 3 * n * size * size;
  if (!engine || !engine->worth(work, 2 * static_cast<double>(points_.size()))) return false;
  return engine->ridge(
      {points_, support_, width_, smoothing, jitter, targets, weights, judged, pulse}, fit);
}

KernelFit KernelRidge::fit(const Matrix& targets, const Vector& weights, double smoothing,
                           Index judged, const Pulse& pulse) {
  if (pulse && !pulse()) return {};
  if (KernelFit there; fit_on_engine(targets, weights, smoothing, judged, pulse, there))
    return there;
  if (pulse && !pulse()) return {};
  if (!exact_) return landmark_fit(targets, weights, smoothing, judged, pulse);
  if (!rows_.divided()) return exact_fit(targets, weights, smoothing, judged);
  const CommonRows last = rows_.last(judged, points_.rows());
  KernelFit fit =
      exact_fit(rows_.united(targets), rows_.united(weights), smoothing, last.total(judged));
  if (fit.coefficients.size() > 0) fit.left_out = last.own(fit.left_out);
  return fit;
}

// With H = (K + diag(smoothing/w))^-1 the coefficients are H T, and without point i the value there
// is T_i - (H T)_i / H_ii. With H^-1 = R'R the last entries of the diagonal of H need only the last
// block of R.
KernelFit KernelRidge::exact_fit(const Matrix& targets, const Vector& weights, double smoothing,
                                 Index judged) {
  make_kernel();
  Matrix upper(kernel_.rows(), kernel_.cols());
  for (Index i = 0; i < upper.rows(); ++i) from_diagonal(upper, i) = from_diagonal(kernel_, i);
  upper.diagonal() += smoothing * weights.cwiseInverse();
  KernelFit fit;
  // Its smallest eigenvalue is that of the ridge, far above rounding.
  if (!linalg::cholesky_in_place(upper)) return fit;
  fit.coefficients = linalg::solve_upper(upper, linalg::solve_upper(upper, targets, Op::transpose));
  Matrix inverse =
      judged == upper.rows() ? std::move(upper) : Matrix(upper.bottomRightCorner(judged, judged));
  linalg::invert_upper(inverse);
  Vector diagonal(judged);
  for (Index i = 0; i < judged; ++i) diagonal[i] = from_diagonal(inverse, i).squaredNorm();
  fit.left_out = targets.bottomRows(judged) -
                 diagonal.cwiseInverse().asDiagonal() * fit.coefficients.bottomRows(judged);
  return fit;
}

// The kernel between some of the points and the landmarks.
Matrix KernelRidge::landmark_kernel(Rows rows) const {
  Matrix block = squared_distances(points_.middleRows(rows.begin, rows.end - rows.begin), support_);
  gaussian(block, width_);
  return block;
}

// With features phi_i = L^-1 k(landmarks, u_i), L L' = k(landmarks, landmarks), it is a linear
// regression: B = Phi' W Phi + smoothing I, f = Phi B^-1 Phi' W T. A point's leverage
// h_i = w_i phi_i' B^-1 phi_i gives the value without it, T_i - (T_i - f_i)/(1 - h_i). The kernel
// is made twice, some rows at a time, so that memory does not grow with the number of points.
KernelFit KernelRidge::landmark_fit(const Matrix& targets, const Vector& weights, double smoothing,
                                    Index judged, const Pulse& pulse) const {
  const Index n = points_.rows(), size = support_.rows(), classes = targets.cols();
  bool stopped = false;
  const auto ask = [&] { stopped = stopped || (pulse && !pulse()); };
  Matrix own = squared_distances(support_), root, lower;
  gaussian(own, width_);
  own.diagonal().array() += jitter;
  KernelFit fit;
  if (!rows_.shard.all(linalg::cholesky(own, root))) return fit;
  // Phi' W Phi, Phi' W T, and a column for |Phi|^2.
  const auto sums_of = [&](Rows some) {
    Matrix part = Matrix::Zero(size, size + classes + 1);
    for (Index first = some.begin; first < some.end && !stopped; first += rows_at_a_time) {
      if (!rows_.divided()) ask();
      const Index count = std::min(rows_at_a_time, some.end - first);
      const Vector roots = weights.segment(first, count).cwiseSqrt();
      Matrix features =
          linalg::solve_lower(root, landmark_kernel({first, first + count}).transpose());
      part.col(size + classes) += features.rowwise().squaredNorm();
      features *= roots.asDiagonal();
      part.leftCols(size) += linalg::gram_of_rows(features);
      part.middleCols(size, classes) +=
          linalg::multiply(features, roots.asDiagonal() * targets.middleRows(first, count));
    }
    return part;
  };
  const Matrix sums = rows_.sum(n, size, size + classes + 1, sums_of, ask);
  if (stopped) return {};
  Matrix normal = sums.leftCols(size);
  normal.diagonal().array() += smoothing;
  const double all = static_cast<double>(rows_.total(n));
  fit.missed = std::max(0.0, 1 - sums.col(size + classes).sum() / all);
  if (!rows_.shard.all(linalg::cholesky(normal, lower))) return fit;
  const Matrix right = sums.middleCols(size, classes);
  const Matrix beta = linalg::solve_lower(lower, linalg::solve_lower(lower, right), Op::transpose);
  fit.coefficients = linalg::solve_lower(root, beta, Op::transpose);

  // h_i = w_i |(L M)^-1 k_i|^2 with B = M M'.
  const Matrix both = linalg::multiply(root, lower);
  fit.left_out.resize(judged, classes);
  const Index before = n - judged;
  const CommonRows last = rows_.last(judged, n);
  Index visits = 0;
  last.visit(judged, rows_at_a_time, [&](Rows) { ++visits; });
  rows_.shard.even_out(visits, ask);
  last.visit(judged, rows_at_a_time, [&](Rows some) {
    ask();
    if (stopped) return;
    const Index first = before + some.begin, count = some.end - some.begin;
    const Matrix kernel = landmark_kernel({first, first + count});
    const Vector leverage =
        weights.segment(first, count).array() *
        linalg::solve_lower(both, kernel.transpose()).colwise().squaredNorm().transpose().array();
    const Vector rest = (1 - leverage.array()).max(1e-12);
    const auto wanted = targets.middleRows(first, count);
    fit.left_out.middleRows(some.begin, count) =
        wanted -
        rest.cwiseInverse().asDiagonal() * (wanted - linalg::multiply(kernel, fit.coefficients));
  });
  return stopped ? KernelFit() : fit;
}

}  // namespace remblai
