// Which vector is where, and what comes back of them.
#include "transport/cuda/gradients_cuda.h"

#include <atomic>
#include <utility>

namespace remblai::cuda {

CudaGradients::CudaGradients(Channel& channel, GradientBuffers& buffers, double* scaled,
                             double* product, cudaStream_t stream, bool clusters, bool ahead,
                             std::function<void(Ask)> multiply)
    : channel_(channel),
      buffers_(buffers),
      stream_(stream),
      ahead_(ahead),
      multiply_(std::move(multiply)) {
  room_.scaled = scaled;
  room_.product = product;
  room_.clusters = clusters;
  check(cudaGetDevice(&gpu_), "its number");
}

// Nothing is told any more when it is gone.
CudaGradients::~CudaGradients() {
  if (asked_ > seen_) cudaStreamSynchronize(stream_);
}

void CudaGradients::start(const Vector* diagonal, const Vector& right, const Vector& x,
                          const Vector& residual) {
  const Index n = right.size();
  buffers_.vectors.resize(GradientBuffers::size(n));
  told_ = buffers_.told.resized(2 * told_numbers);
  told_by(told_, 0)[2] = told_by(told_, 1)[2] = 0;
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
  room_.numbers = next;
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
  for (std::int64_t look = 1; told[2] != call; ++look) {
    if (look % 65536 != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaErrorNotReady) continue;
    check(status, "a pass over the matrix");
    if (told[2] != call) check(cudaErrorUnknown, "a pass over the matrix");
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

const double* CudaGradients::wait() {
  ++seen_;
  const double* told = told_by(told_, seen_);
  wait_for(told, static_cast<double>(seen_), stream_);
  return told;
}

double CudaGradients::begin(double enough) {
  const OnGpu scope(gpu_);
  room_.enough = enough;
  ++asked_;
  begin_gradients(room_, told_by(told_, asked_), static_cast<double>(asked_), stream_);
  return norm_ = wait()[1];
}

void CudaGradients::ask() {
  multiply_(Ask::product);
  ++asked_;
  step_gradients(room_, told_by(told_, asked_), static_cast<double>(asked_), stream_);
}

// The next step is begun ahead if this one will hardly be the last. Where it is, the GPU finds that
// there is nothing left to do, and only the product was for nothing.
std::optional<double> CudaGradients::step(bool more) {
  const OnGpu scope(gpu_);
  if (asked_ == seen_) ask();
  if (ahead_ && more && rate_ * norm_ > room_.enough) ask();
  const double* told = wait();
  check(cudaGetLastError(), "a pass over the matrix");
  if (!(told[0] > 0)) return std::nullopt;
  rate_ = told[1] / norm_;
  return norm_ = told[1];
}

void CudaGradients::take(Vector& x, Vector& r) {
  const OnGpu scope(gpu_);
  x.resize(room_.size);
  r.resize(room_.size);
  channel_.fetch({{room_.x, room_.size, x.data()}, {room_.residual, room_.size, r.data()}});
}

}  // namespace remblai::cuda
