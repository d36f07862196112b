// Products by cuBLAS, roots by products, and the engines that wait for work.
#include "transport/cuda/engine_cuda.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/linalg.h"
#include "remblai/error.h"
#include "transport/cuda/dense.h"
#include "transport/engine.h"

namespace remblai {
namespace cuda {
namespace {

using linalg::Operand;

// What cuBLAS advises for Hopper.
constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20;

// Of a tall matrix so many numbers are there at a time, and so many stay when there is no work.
constexpr Index most_numbers = Index{1} << 23;
constexpr Index kept_numbers = Index{1} << 25;

// The sixty or so products of smaller roots take longer to be started than a decomposition does.
constexpr Index least_order = 128;

}  // namespace

CudaEngine::CudaEngine(int gpu) : gpu_(gpu) {
  const OnGpu scope(gpu_);
  blas_ = std::make_unique<Blas>();
  workspace_.resize(workspace_bytes);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  blas_->use(stream_);
  // After the stream, which resets it.
  blas_->use_workspace(workspace_.data(), static_cast<std::size_t>(workspace_bytes));
  channel_.use(stream_);
  ridge_ = std::make_unique<CudaRidge>(*blas_, channel_, stream_);
}

std::vector<Buffer<double>*> CudaEngine::buffers() {
  std::vector<Buffer<double>*> all{&left_,    &right_,      &product_,    &sum_,   &roots_.y,
                                   &roots_.z, &roots_.next, &roots_.step, &by_row_};
  for (Buffer<double>* buffer : ridge_->buffers()) all.push_back(buffer);
  return all;
}

CudaEngine::~CudaEngine() {
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(gpu_);
  cudaStreamSynchronize(stream_);
  for (Buffer<double>* buffer : buffers()) buffer->release();
  blas_.reset();
  channel_.release();
  workspace_.release();
  cudaStreamDestroy(stream_);
  cudaSetDevice(before);
}

// A core makes some 3e10 multiplications a second and copies some 6e9 bytes, of which several cores
// together make fewer each; the way to the GPU and back takes some 60 microseconds.
bool CudaEngine::worth(double multiplications, double numbers) const {
  if (failed_) return false;
  const double cores = linalg::current_threads();
  const double here = multiplications / (3e10 * cores);
  const double there = 6e-5 + multiplications / 1e13 + 8 * numbers / (6e9 * std::min(cores, 4.0));
  return there < here;
}

// Other threads may have the core meanwhile.
void CudaEngine::settle() const {
  while (cudaStreamQuery(stream_) == cudaErrorNotReady) std::this_thread::yield();
}

void CudaEngine::fetch(const Buffer<double>& from, Index count, double* to) {
  settle();
  channel_.fetch({{from.data(), count, to}});
}

void CudaEngine::send(const Operand& a, Buffer<double>& to) {
  to.resize(a.rows * a.columns);
  channel_.send(a.data, a.rows * a.columns, to.data());
}

template <class Work>
bool CudaEngine::attempt(Work&& work) {
  if (failed_) return false;
  try {
    const OnGpu scope(gpu_);
    return work();
  } catch (const Error&) {
    failed_ = true;
    if (insists_) throw;
    return false;
  }
}

bool CudaEngine::multiply(const Operand& a, const Operand& b, double alpha, double* c) {
  return attempt([&] {
    product(a, b, alpha, c);
    return true;
  });
}

// Rows of C follow those of A where A is not transposed, and are made some at a time. A long inner
// dimension is added up part by part.
void CudaEngine::product(const Operand& a, const Operand& b, double alpha, double* c) {
  const Index m = a.transposed ? a.columns : a.rows, k = a.transposed ? a.rows : a.columns;
  const Index n = b.transposed ? b.rows : b.columns;
  if (a.transposed && !b.transposed && alpha == 1 && k * std::max(m, n) > most_numbers)
    return tall_product(a, b, c);
  const bool same = a.data == b.data && a.rows == b.rows && a.columns == b.columns;
  const Index part =
      a.transposed || same
          ? m
          : std::clamp<Index>(most_numbers / std::max<Index>(1, std::max(k, n)), 1, m);
  send(b, right_);
  for (Index first = 0; first < m; first += part) {
    const Index count = std::min(part, m - first);
    if (!same) send(a.transposed ? a : Operand{a.data + first * k, count, k}, left_);
    product_.resize(count * n);
    blas_->gemm(a.transposed, b.transposed, count, n, k, alpha, same ? right_.data() : left_.data(),
                a.columns, right_.data(), b.columns, 0, product_.data(), n);
    if (same && a.transposed != b.transposed) copy_up(n, product_.data(), stream_);
    fetch(product_, count * n, c + first * n);
  }
}

void CudaEngine::tall_product(const Operand& a, const Operand& b, double* c) {
  const Index m = a.columns, n = b.columns, k = a.rows;
  start_sum(m, n);
  const Index part = std::max<Index>(1, most_numbers / std::max(m, n));
  for (Index first = 0; first < k; first += part) {
    const Index count = std::min(part, k - first);
    add({a.data + first * m, count, m}, {b.data + first * n, count, n});
  }
  take_sum(c);
}

void CudaEngine::start_sum(Index rows, Index columns) {
  sum_rows_ = rows;
  sum_columns_ = columns;
  summed_ = 0;
}

void CudaEngine::add_to_sum(const Operand& a, const Operand& b) {
  attempt([&] {
    add(a, b);
    return true;
  });
}

void CudaEngine::add(const Operand& a, const Operand& b) {
  sum_.resize(sum_rows_ * sum_columns_);
  const bool same = a.data == b.data && a.columns == b.columns;
  symmetric_ = same && (summed_ == 0 || symmetric_);
  send(b, right_);
  if (!same) send(a, left_);
  blas_->gemm(true, false, sum_rows_, sum_columns_, a.rows, 1, same ? right_.data() : left_.data(),
              sum_rows_, right_.data(), sum_columns_, summed_ > 0 ? 1 : 0, sum_.data(),
              sum_columns_);
  summed_ += a.rows;
}

bool CudaEngine::fetch_sum(double* c) {
  return attempt([&] {
    take_sum(c);
    return true;
  });
}

void CudaEngine::take_sum(double* c) {
  if (symmetric_) copy_up(sum_rows_, sum_.data(), stream_);
  fetch(sum_, sum_rows_ * sum_columns_, c);
}

void CudaEngine::square_product(Index order, const Buffer<double>& a, const Buffer<double>& b,
                                Buffer<double>& c) const {
  blas_->gemm(false, false, order, order, order, 1, a.data(), order, b.data(), order, 0, c.data(),
              order);
}

// Newton-Schulz: Y T and T Z tend to Y^(1/2) and Y^(-1/2), with T = alpha I - beta Z Y. On each
// eigenvalue s^2 of Y it is s -> s (alpha - beta s^2). While the smallest is far from 1, alpha and
// beta are those that bring [s, 1] closest to 1: it then grows by 2.6 a step and not by 1.5. False
// where the last step finds eigenvalues that are not where they should be.
bool CudaEngine::make_roots(Index order, double least) {
  auto& [y, z, next, step] = roots_;
  double low = std::sqrt(least);
  bool last = false;
  for (int k = 0; !last; ++k) {
    last = 1 - low * low < 1e-8 || k == 50;
    const double sum = low * low + low + 1;
    const double top = std::sqrt(sum / 3) * sum * 2 / 3;
    const double alpha = last ? 1.5 : sum / top, beta = last ? 0.5 : 1 / top;
    const Buffer<double>* product = &y;  // Z Y with Z = I
    if (k > 0) square_product(order, z, y, step), product = &step;
    if (last)
      look(order, product->data(), y.data(), by_row_.data(), by_row_.data() + order, stream_);
    shifted(order, alpha, -beta, product->data(), step.data(), stream_);
    if (k > 0) {
      square_product(order, step, z, next);
      z.swap(next);
    }
    square_product(order, y, step, next);
    y.swap(next);
    if (k == 0) z.swap(step);
    low *= (1 + low) / top;
  }
  Vector far(order);
  settle();
  channel_.fetch({{by_row_.data(), order, far.data()}});
  return (far.array() < 1e-6).all();  // NaN is not
}

bool CudaEngine::inverse_fourth_root(Index order, const double* m, double least, double* root,
                                     double& trace) {
  return order >= least_order && attempt([&] { return fourth_root(order, m, least, root, trace); });
}

bool CudaEngine::fourth_root(Index order, const double* m, double least, double* root,
                             double& trace) {
  const Index size = order * order;
  auto& [y, z, next, step] = roots_;
  for (Buffer<double>* buffer : {&y, &z, &next, &step}) buffer->resize(size);
  by_row_.resize(2 * order);
  channel_.send(m, size, next.data());
  squares_of_rows(order, next.data(), by_row_.data(), stream_);
  Vector numbers(order);
  settle();
  channel_.fetch({{by_row_.data(), order, numbers.data()}});
  const double norm = std::sqrt(numbers.sum());
  // Below it rounding leaves nothing of the smallest eigenvalues, and a decomposition says so.
  if (!(least > 1e-11 * norm) || !std::isfinite(norm)) return false;
  mirror(order, 1 / norm, next.data(), y.data(), stream_);
  const double share = least / norm / 2;  // rounding may have made it smaller
  if (!make_roots(order, share)) return false;
  look(order, y.data(), y.data(), by_row_.data(), by_row_.data() + order, stream_);
  channel_.fetch({{by_row_.data() + order, order, numbers.data()}});
  trace = std::sqrt(norm) * numbers.sum();
  if (!make_roots(order, std::sqrt(share))) return false;
  shifted(order, 0, 1 / std::sqrt(std::sqrt(norm)), z.data(), step.data(), stream_);
  fetch(step, size, root);
  return true;
}

bool CudaEngine::ridge(const linalg::RidgeTask& task, linalg::RidgeFit& fit) {
  return attempt([&] { return ridge_->fit(task, fit); });
}

bool CudaEngine::rest() {
  return attempt([&] {
    for (Buffer<double>* buffer : buffers())
      if (buffer->bytes() > kept_numbers * static_cast<Index>(sizeof(double))) buffer->release();
    return true;
  });
}

namespace {

// Engines without work, kept until the process ends: a driver that is going away by then is not
// called any more.
struct Waiting {
  std::mutex mutex;
  std::vector<std::pair<int, CudaEngine*>> engines;
};

Waiting& waiting() {
  static Waiting& all = *new Waiting;
  return all;
}

void lay_down(int gpu, CudaEngine* engine) {
  engine->insist(false);
  if (!engine->rest()) return delete engine;
  Waiting& all = waiting();
  const std::lock_guard lock(all.mutex);
  all.engines.emplace_back(gpu, engine);
}

}  // namespace
}  // namespace cuda

std::shared_ptr<linalg::Engine> make_cuda_engine(int gpu, bool asked_for) {
  using cuda::CudaEngine;
  cuda::Waiting& all = cuda::waiting();
  CudaEngine* engine = nullptr;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = std::find_if(all.engines.begin(), all.engines.end(),
                                    [&](const auto& one) { return one.first == gpu; });
    if (found != all.engines.end()) {
      engine = found->second;
      all.engines.erase(found);
    }
  }
  if (!engine) engine = new CudaEngine(gpu);
  engine->insist(asked_for);
  return {engine, [gpu](CudaEngine* done) { cuda::lay_down(gpu, done); }};
}

}  // namespace remblai
