// Conjugate gradients with vectors on a GPU: three numbers come back from every step.
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
  PinnedNumbers told;

  /// Numbers that it holds for vectors of n entries.
  static std::int64_t size(std::int64_t n) { return count * n + gradient_partials() + 2; }

  static constexpr int count = 7;  ///< of the vectors
};

/// Calls are for the GPU that was current when it was made.
class CudaGradients final : public Gradients {
 public:
  /// What the GPU is asked for: the product of S with the vector at `scaled`, or the diagonal of S.
  enum class Ask { product, squares };

  /// `multiply` asks for it, to be left at `product`; see GradientRoom.
  CudaGradients(Channel& channel, GradientBuffers& buffers, double* scaled, double* product,
                cudaStream_t stream, bool overlap, std::function<void(Ask)> multiply);

  /// `diagonal` is null where H has the null vector 1: then it follows from S.
  void start(const Vector* diagonal, const Vector& right, const Vector& x, const Vector& residual);

  Residual begin() override;
  std::optional<Residual> step(double product) override;
  void take(Vector& x, Vector& r) override;

 private:
  Residual told();

  Channel& channel_;
  GradientBuffers& buffers_;
  GradientRoom room_;
  cudaStream_t stream_;
  int gpu_ = 0;
  double call_ = 0;  // number of the last one
  std::function<void(Ask)> multiply_;
};

/// Waits until a GPU has told numbers with the number of this call behind them (`vectors.h`).
void wait_for(const volatile double* told, double call, cudaStream_t stream);

}  // namespace remblai::cuda
