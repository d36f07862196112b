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
  PinnedNumbers told;  ///< of two calls in turn

  /// Numbers that it holds for vectors of n entries.
  static std::int64_t size(std::int64_t n) { return count * n + 2; }

  static constexpr int count = 7;  ///< of the vectors
};

/// Calls are for the GPU that was current when it was made.
class CudaGradients final : public Gradients {
 public:
  /// What the GPU is asked for: the product of S with the vector at `scaled`, or the diagonal of S.
  enum class Ask { product, squares };

  /// `multiply` asks for it, to be left at `product`; see GradientRoom. With `ahead` a step may be
  /// begun before the last one is looked at.
  CudaGradients(Channel& channel, GradientBuffers& buffers, double* scaled, double* product,
                cudaStream_t stream, bool clusters, bool ahead, std::function<void(Ask)> multiply);
  ~CudaGradients() override;

  /// `diagonal` is null where H has the null vector 1: then it follows from S.
  void start(const Vector* diagonal, const Vector& right, const Vector& x, const Vector& residual);

  double begin(double enough) override;
  std::optional<double> step(bool more) override;
  void take(Vector& x, Vector& r) override;

 private:
  void ask();
  const double* wait();

  Channel& channel_;
  GradientBuffers& buffers_;
  GradientRoom room_;
  double* told_ = nullptr;
  cudaStream_t stream_;
  int gpu_ = 0;
  bool ahead_;
  std::int64_t asked_ = 0, seen_ = 0;  // calls
  double norm_ = 0, rate_ = 0;         // |r|_1, and by what the last step has multiplied it
  std::function<void(Ask)> multiply_;
};

/// Where a call tells its numbers, of those of two calls in turn.
inline double* told_by(double* told, std::int64_t call) {
  return told + told_numbers * (call % 2);
}

/// Waits until a GPU has told numbers with the number of this call behind them (`vectors.h`).
void wait_for(const volatile double* told, double call, cudaStream_t stream);

}  // namespace remblai::cuda
