// Conjugate gradients with vectors on a GPU: two numbers come back from every step.
#pragma once

#include <functional>

#include "transport/cuda/channel.h"
#include "transport/cuda/runtime.h"
#include "transport/cuda/vectors.h"
#include "transport/gradients.h"

namespace remblai::cuda {

/// Memory for the vectors, kept from one Newton step to the next.
struct GradientBuffers {
  Buffer<double> vectors;
  Buffer<unsigned> ticket;

  /// Numbers that it holds for vectors of n entries.
  static std::int64_t size(std::int64_t n) { return count * n + gradient_partials() + 2; }

  static constexpr int count = 7;  ///< of the vectors
};

/// Calls are for the GPU that was current when it was made.
class CudaGradients final : public Gradients {
 public:
  /// `multiply` asks for the product of S with the vector at `scaled`, to be left at `product`; see
  /// GradientRoom. When this is called, `product` holds the diagonal of S.
  CudaGradients(Channel& channel, GradientBuffers& buffers, double* scaled, double* product,
                cudaStream_t stream, std::function<void()> multiply);

  void start(const Vector& diagonal, const Vector& right, const Vector& x, const Vector& residual);

  Residual begin() override;
  double curvature() override;
  Residual advance(double length) override;
  void turn(double share) override;
  void take(Vector& x, Vector& r) override;

 private:
  Residual fetched();

  Channel& channel_;
  GradientBuffers& buffers_;
  GradientRoom room_;
  cudaStream_t stream_;
  int gpu_ = 0;
  std::function<void()> multiply_;
};

}  // namespace remblai::cuda
