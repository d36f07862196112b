// Which vector is where, and what comes back of them.
#include "transport/cuda/gradients_cuda.h"

#include <atomic>
#include <utility>

namespace remblai::cuda {

CudaGradients::CudaGradients(Channel& channel, GradientBuffers& buffers, double* scaled,
                             double* product, cudaStream_t stream, bool overlap,
                             std::function<void(Ask)> multiply)
    : channel_(channel), buffers_(buffers), stream_(stream), multiply_(std::move(multiply)) {
  room_.scaled = scaled;
  room_.product = product;
  room_.overlap = overlap;
  check(cudaGetDevice(&gpu_), "its number");
}

void CudaGradients::start(const Vector* diagonal, const Vector& right, const Vector& x,
                          const Vector& residual) {
  const Index n = right.size();
  buffers_.vectors.resize(GradientBuffers::size(n));
  buffers_.ticket.resize(1);
  room_.told = buffers_.told.resized(4);
  room_.told[3] = call_;
  check(cudaMemsetAsync(buffers_.ticket.data(), 0, sizeof(unsigned), stream_), "a zero");
  double* next = buffers_.vectors.data();
  const auto place = [&] { return std::exchange(next, next + n); };
  double *diagonal_there = place(), *right_there = place(), *jacobi = place();
  room_.size = n;
  room_.diagonal = diagonal_there;
  room_.right = right_there;
  room_.jacobi = jacobi;
  room_.x = place();
  room_.residual = place();
  room_.z = place();
  room_.direction = place();
  room_.partial = next;
  room_.numbers = next + gradient_partials();
  room_.ticket = buffers_.ticket.data();
  channel_.send(right.data(), n, right_there);
  channel_.send(x.data(), n, room_.x);
  channel_.send(residual.data(), n, room_.residual);
  if (diagonal) {
    channel_.send(diagonal->data(), n, diagonal_there);
  } else {
    check(cudaMemcpyAsync(room_.scaled, right_there, static_cast<std::size_t>(n) * sizeof(double),
                          cudaMemcpyDeviceToDevice, stream_),
          "a copy");
    multiply_(Ask::product);
    find_diagonal(room_, diagonal_there, stream_);
  }
  multiply_(Ask::squares);
  find_jacobi(room_, room_.product, jacobi, stream_);
}

// The driver is not asked for the numbers: its answer takes longer than a pass over a small matrix.
// It is asked now and then whether the GPU still works.
void wait_for(const volatile double* told, double call, cudaStream_t stream) {
  for (std::int64_t look = 1; told[3] != call; ++look) {
    if (look % 65536 != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaErrorNotReady) continue;
    check(status, "a pass over the matrix");
    if (told[3] != call) check(cudaErrorUnknown, "a pass over the matrix");
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

Gradients::Residual CudaGradients::told() {
  wait_for(room_.told, call_, stream_);
  return {room_.told[1], room_.told[2]};
}

Gradients::Residual CudaGradients::begin() {
  const OnGpu scope(gpu_);
  begin_gradients(room_, ++call_, stream_);
  return told();
}

std::optional<Gradients::Residual> CudaGradients::step(double product) {
  const OnGpu scope(gpu_);
  multiply_(Ask::product);
  step_gradients(room_, product, ++call_, stream_);
  const Residual next = told();
  check(cudaGetLastError(), "a pass over the matrix");
  if (!(room_.told[0] > 0)) return std::nullopt;
  return next;
}

void CudaGradients::take(Vector& x, Vector& r) {
  const OnGpu scope(gpu_);
  x.resize(room_.size);
  r.resize(room_.size);
  channel_.fetch({{room_.x, room_.size, x.data()}, {room_.residual, room_.size, r.data()}});
}

}  // namespace remblai::cuda
