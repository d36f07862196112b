// Which vector is where, and what comes back of them.
#include "transport/cuda/gradients_cuda.h"

#include <utility>

namespace remblai::cuda {

CudaGradients::CudaGradients(Channel& channel, GradientBuffers& buffers, double* scaled,
                             double* product, cudaStream_t stream, std::function<void()> multiply)
    : channel_(channel), buffers_(buffers), stream_(stream), multiply_(std::move(multiply)) {
  room_.scaled = scaled;
  room_.product = product;
  check(cudaGetDevice(&gpu_), "its number");
}

void CudaGradients::start(const Vector& diagonal, const Vector& right, const Vector& x,
                          const Vector& residual) {
  const Index n = diagonal.size();
  buffers_.vectors.resize(GradientBuffers::size(n));
  buffers_.ticket.resize(1);
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
  channel_.send(diagonal.data(), n, diagonal_there);
  channel_.send(right.data(), n, right_there);
  channel_.send(x.data(), n, room_.x);
  channel_.send(residual.data(), n, room_.residual);
  find_jacobi(room_, room_.product, jacobi, stream_);
}

Gradients::Residual CudaGradients::fetched() {
  double numbers[2] = {};
  channel_.fetch({{room_.numbers, 2, numbers}});
  return {numbers[0], numbers[1]};
}

Gradients::Residual CudaGradients::begin() {
  const OnGpu scope(gpu_);
  begin_gradients(room_, stream_);
  return fetched();
}

double CudaGradients::curvature() {
  const OnGpu scope(gpu_);
  multiply_();
  find_curvature(room_, stream_);
  return fetched().product;
}

Gradients::Residual CudaGradients::advance(double length) {
  const OnGpu scope(gpu_);
  advance_gradients(room_, length, stream_);
  return fetched();
}

void CudaGradients::turn(double share) {
  const OnGpu scope(gpu_);
  turn_gradients(room_, share, stream_);
}

void CudaGradients::take(Vector& x, Vector& r) {
  const OnGpu scope(gpu_);
  x.resize(room_.size);
  r.resize(room_.size);
  channel_.fetch({{room_.x, room_.size, x.data()}, {room_.residual, room_.size, r.data()}});
}

}  // namespace remblai::cuda
