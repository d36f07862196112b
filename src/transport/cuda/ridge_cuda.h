// Kernel ridge regression on a GPU, for one engine. Only points, weights and targets go there, and
// only coefficients and residuals come back.
#pragma once

#include <array>

#include "base/engine.h"
#include "transport/cuda/channel.h"
#include "transport/cuda/runtime.h"

namespace remblai::cuda {

class CudaRidge {
 public:
  /// All of them outlive it, and work goes to this stream.
  CudaRidge(const Blas& blas, Channel& channel, cudaStream_t stream)
      : blas_(blas), channel_(channel), stream_(stream) {}

  /// False where a matrix is not positive definite to working precision.
  bool fit(const linalg::RidgeTask& task, linalg::RidgeFit& answer);

  std::array<Buffer<double>*, 12> buffers() {
    return {&support_, &support_squares_, &points_, &squares_, &kernel_, &root_,
            &normal_,  &right_,           &some_,   &values_,  &roots_,  &lengths_};
  }

 private:
  bool fit_exact(const linalg::RidgeTask& task, linalg::RidgeFit& answer);
  bool fit_landmarks(const linalg::RidgeTask& task, linalg::RidgeFit& answer);
  void take_support(const Matrix& support, const Eigen::RowVectorXd& origin);
  void make_kernel(const linalg::RidgeTask& task, Index first, Index count,
                   const Eigen::RowVectorXd& origin);
  void support_kernel(double width, double* kernel);
  void solve_rows(Index rows, Index order, const Buffer<double>& lower, bool transposed,
                  const Buffer<double>& values) const;
  void factor(Index order, double* a) const;
  void send(const Matrix& a, Buffer<double>& to);
  Matrix fetch(const Buffer<double>& from, Index rows, Index columns);

  const Blas& blas_;
  Channel& channel_;
  cudaStream_t stream_;
  Index size_ = 0, dimension_ = 0;            // of the support
  Buffer<double> support_, support_squares_;  // measured from the origin
  Buffer<double> points_, squares_, kernel_;  // some points, and the kernel to the support
  Buffer<double> root_, normal_, right_;      // factors, and a row a class
  Buffer<double> some_, values_, roots_, lengths_;
};

}  // namespace remblai::cuda
