// Sinkhorn iterations with vectors on a GPU: two numbers come back from every one.
#pragma once

#include <functional>

#include "transport/cuda/channel.h"
#include "transport/cuda/runtime.h"
#include "transport/cuda/vectors.h"
#include "transport/iterations.h"

namespace remblai::cuda {

/// Calls are for the GPU that was current when it was made.
class CudaIterations final : public Iterations {
 public:
  /// `told` has room for the numbers of two calls. `pass` makes a and the sums from b.
  CudaIterations(Channel& channel, const IterationRoom& room, double* told, cudaStream_t stream,
                 std::function<void()> pass);
  ~CudaIterations() override;

  Seen step(bool more) override;
  void take(Vector& a, Vector& b, Vector& sums) override;

 private:
  void ask();
  Channel& channel_;
  IterationRoom room_;
  double* told_;
  cudaStream_t stream_;
  int gpu_ = 0;
  std::int64_t asked_ = 0, seen_ = 0;  // calls
  std::function<void()> pass_;
};

}  // namespace remblai::cuda
