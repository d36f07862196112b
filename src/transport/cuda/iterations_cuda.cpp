// What is asked for ahead, and what is looked at.
#include "transport/cuda/iterations_cuda.h"

#include <utility>

#include "transport/cuda/gradients_cuda.h"

namespace remblai::cuda {

CudaIterations::CudaIterations(Channel& channel, const IterationRoom& room, double* told,
                               cudaStream_t stream, std::function<void()> pass)
    : channel_(channel), room_(room), told_(told), stream_(stream), pass_(std::move(pass)) {
  check(cudaGetDevice(&gpu_), "its number");
  told_by(told_, 0)[2] = told_by(told_, 1)[2] = 0;
}

// Nothing is told any more when it is gone.
CudaIterations::~CudaIterations() {
  if (asked_ > seen_) cudaStreamSynchronize(stream_);
}

void CudaIterations::ask() {
  ++asked_;
  meet_columns(room_, stream_);
  pass_();
  judge(room_, told_by(told_, asked_), static_cast<double>(asked_), stream_);
}

Iterations::Seen CudaIterations::step(bool more) {
  const OnGpu scope(gpu_);
  if (asked_ == seen_) ask();
  if (more) ask();
  ++seen_;
  const double* told = told_by(told_, seen_);
  wait_for(told, static_cast<double>(seen_), stream_);
  check(cudaGetLastError(), "a pass over the matrix");
  return {told[0], told[1] == 0};
}

void CudaIterations::take(Vector& a, Vector& b, Vector& sums) {
  const OnGpu scope(gpu_);
  a.resize(room_.rows);
  b.resize(room_.columns);
  sums.resize(room_.columns);
  channel_.fetch({{room_.a, room_.rows, a.data()},
                  {room_.b, room_.columns, b.data()},
                  {room_.sums, room_.columns, sums.data()}});
  seen_ = asked_;
}

}  // namespace remblai::cuda
