// The formulas of src/fit/kernel_ridge.cpp, with a row a point throughout.
#include "transport/cuda/ridge_cuda.h"

#include <algorithm>

#include "transport/cuda/dense.h"

namespace remblai::cuda {
namespace {

using linalg::RidgeFit;
using linalg::RidgeTask;

constexpr Index rows_at_a_time = 4096;

}  // namespace

bool CudaRidge::fit(const RidgeTask& task, RidgeFit& answer) {
  return task.landmarks.rows() > 0 ? fit_landmarks(task, answer) : fit_exact(task, answer);
}

void CudaRidge::send(const Matrix& a, Buffer<double>& to) {
  to.resize(a.size());
  channel_.send(a.data(), a.size(), to.data());
}

Matrix CudaRidge::fetch(const Buffer<double>& from, Index rows, Index columns) {
  Matrix there(rows, columns);
  channel_.fetch({{from.data(), there.size(), there.data()}});
  return there;
}

void CudaRidge::take_support(const Matrix& support, const Eigen::RowVectorXd& origin) {
  size_ = support.rows();
  dimension_ = support.cols();
  send(support.rowwise() - origin, support_);
  support_squares_.resize(size_);
  add_squares_of_rows(size_, dimension_, support_.data(), support_squares_.data(), stream_);
}

// Where points are compared with themselves the distance is 0 to the last bit.
void CudaRidge::support_kernel(double width, double* kernel) {
  blas_.gemm(false, true, size_, size_, dimension_, 1, support_.data(), dimension_, support_.data(),
             dimension_, 0, kernel, size_);
  gaussian_rows({size_, size_, 0}, support_squares_.data(), support_squares_.data(), width, kernel,
                stream_);
}

void CudaRidge::make_kernel(const RidgeTask& task, Index first, Index count,
                            const Eigen::RowVectorXd& origin) {
  send(task.points.middleRows(first, count).rowwise() - origin, points_);
  squares_.resize(count);
  add_squares_of_rows(count, dimension_, points_.data(), squares_.data(), stream_);
  kernel_.resize(count * size_);
  blas_.gemm(false, true, count, size_, dimension_, 1, points_.data(), dimension_, support_.data(),
             dimension_, 0, kernel_.data(), size_);
  gaussian_rows({count, size_, -1}, squares_.data(), support_squares_.data(), task.width,
                kernel_.data(), stream_);
}

// Every row x becomes L^-1 x, or L'^-1 x.
void CudaRidge::solve_rows(Index rows, Index order, const Buffer<double>& lower, bool transposed,
                           const Buffer<double>& values) const {
  blas_.solve_rows(transposed, rows, order, lower.data(), order, values.data(), order);
}

// A = L L', by blocks. Of a matrix that is not positive definite NaN is left.
void CudaRidge::factor(Index order, double* a) const {
  for (Index first = 0; first < order; first += factor_order) {
    const Index count = std::min(factor_order, order - first), rest = order - first - count;
    double* const corner = a + first * order + first;
    factor_block(count, order, corner, stream_);
    if (rest == 0) return;
    double* const below = corner + count * order;
    blas_.solve_rows(false, rest, count, corner, order, below, order);
    blas_.gemm(false, true, rest, rest, count, -1, below, order, below, order, 1, below + count,
               order);
  }
}

bool CudaRidge::fit_exact(const RidgeTask& task, RidgeFit& answer) {
  const Index n = task.points.rows(), classes = task.targets.cols(), judged = task.judged;
  take_support(task.points, task.points.colwise().mean());
  root_.resize(n * n);
  support_kernel(task.width, root_.data());
  send(task.smoothing * task.weights.cwiseInverse(), roots_);
  add_to_diagonal(n, roots_.data(), root_.data(), stream_);
  factor(n, root_.data());
  send(task.targets.transpose(), right_);
  for (const bool transposed : {false, true}) solve_rows(classes, n, root_, transposed, right_);
  answer.coefficients = fetch(right_, classes, n).transpose();
  if (!answer.coefficients.allFinite()) return false;
  // Row i is column i of the last block of L^-1.
  const Index before = n - judged;
  if (judged == 0) return true;
  normal_.resize(judged * judged);
  check(cudaMemsetAsync(normal_.data(), 0, static_cast<std::size_t>(judged * judged) * 8, stream_),
        "zeros");
  shifted(judged, 1, 1, normal_.data(), normal_.data(), stream_);
  blas_.solve_rows(false, judged, judged, root_.data() + before * n + before, n, normal_.data(),
                   judged);
  lengths_.resize(judged);
  add_squares_of_rows(judged, judged, normal_.data(), lengths_.data(), stream_);
  const Vector diagonal = fetch(lengths_, judged, 1);
  answer.left_out = task.targets.bottomRows(judged) -
                    diagonal.cwiseInverse().asDiagonal() * answer.coefficients.bottomRows(judged);
  return true;
}

bool CudaRidge::fit_landmarks(const RidgeTask& task, RidgeFit& answer) {
  const Index n = task.points.rows(), classes = task.targets.cols(), judged = task.judged;
  const Eigen::RowVectorXd origin = task.landmarks.colwise().mean();
  take_support(task.landmarks, origin);
  root_.resize(size_ * size_);
  support_kernel(task.width, root_.data());
  shifted(size_, task.jitter, 1, root_.data(), root_.data(), stream_);
  factor(size_, root_.data());

  normal_.resize(size_ * size_);
  right_.resize(classes * size_);
  lengths_.resize(n);
  const Vector roots = task.weights.cwiseSqrt();
  send(roots, roots_);
  for (Index first = 0; first < n; first += rows_at_a_time) {
    if (task.goes_on && !task.goes_on()) return false;
    const Index count = std::min(rows_at_a_time, n - first);
    const double more = first > 0 ? 1 : 0;
    make_kernel(task, first, count, origin);
    solve_rows(count, size_, root_, false, kernel_);
    add_squares_of_rows(count, size_, kernel_.data(), lengths_.data() + first, stream_);
    scale_rows(count, size_, roots_.data() + first, kernel_.data(), stream_);
    blas_.gemm(true, false, size_, size_, count, 1, kernel_.data(), size_, kernel_.data(), size_,
               more, normal_.data(), size_);
    send(roots.segment(first, count).asDiagonal() * task.targets.middleRows(first, count), some_);
    blas_.gemm(true, false, classes, size_, count, 1, some_.data(), classes, kernel_.data(), size_,
               more, right_.data(), size_);
  }
  shifted(size_, task.smoothing, 1, normal_.data(), normal_.data(), stream_);
  factor(size_, normal_.data());
  for (const bool transposed : {false, true})
    solve_rows(classes, size_, normal_, transposed, right_);
  solve_rows(classes, size_, root_, true, right_);
  answer.coefficients = fetch(right_, classes, size_).transpose();
  if (!answer.coefficients.allFinite()) return false;
  answer.missed = std::max(0.0, 1 - fetch(lengths_, n, 1).sum() / static_cast<double>(n));

  answer.left_out.resize(judged, classes);
  for (Index first = 0; first < judged; first += rows_at_a_time) {
    if (task.goes_on && !task.goes_on()) return false;
    const Index count = std::min(rows_at_a_time, judged - first), from = n - judged + first;
    make_kernel(task, from, count, origin);
    values_.resize(count * classes);
    blas_.gemm(false, true, count, classes, size_, 1, kernel_.data(), size_, right_.data(), size_,
               0, values_.data(), classes);
    solve_rows(count, size_, root_, false, kernel_);
    solve_rows(count, size_, normal_, false, kernel_);
    add_squares_of_rows(count, size_, kernel_.data(), lengths_.data(), stream_);
    const auto wanted = task.targets.middleRows(from, count);
    const Vector rest =
        (1 - task.weights.segment(from, count).array() * fetch(lengths_, count, 1).array())
            .max(1e-12);
    answer.left_out.middleRows(first, count) =
        wanted - rest.cwiseInverse().asDiagonal() * (wanted - fetch(values_, count, classes));
  }
  return true;
}

}  // namespace remblai::cuda
