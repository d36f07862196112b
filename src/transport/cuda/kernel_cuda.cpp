// The kernel on a GPU: its passes, with what goes there for them and what comes back.
#include "transport/cuda/kernel_cuda.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>

#include "transport/cuda/cuda_kernel.h"

namespace remblai {
namespace cuda {
namespace {

RowWork::Kind kind_of(const RowRule& rule) {
  switch (rule.kind()) {
    case RowRule::Kind::weigh:
      return RowWork::weigh;
    case RowRule::Kind::meet_exact:
      return RowWork::meet_exact;
    case RowRule::Kind::meet_relaxed:
      return RowWork::meet_relaxed;
  }
  return RowWork::weigh;
}

}  // namespace

template <class T>
CudaKernel<T>::CudaKernel(const Resources& resources, int gpu) : gpu_(gpu) {
  const OnGpu scope(gpu_);
  check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, gpu_), "its size");
  check(cudaDeviceGetAttribute(&shared_memory_, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu_),
        "its size");
  check(cudaDeviceGetAttribute(&cache_, cudaDevAttrL2CacheSize, gpu_), "its cache");
  clusters_ = clusters_work();
  blas_ = std::make_unique<Blas>();
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  for (cudaEvent_t& event : tiles_done_)
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  blas_->use(stream_);
  channel_.use(stream_);
  storage_ = std::make_unique<Storage<T>>(resources, channel_, *blas_);
}

template <class T>
CudaKernel<T>::~CudaKernel() {
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(gpu_);
  cudaStreamSynchronize(stream_);
  storage_.reset();
  blas_.reset();
  channel_.release();
  for (cudaEvent_t event : tiles_done_) cudaEventDestroy(event);
  cudaStreamDestroy(stream_);
  for_buffers([](auto& buffer) { buffer.release(); });
  cudaSetDevice(before);
}

template <class T>
template <class Body>
void CudaKernel<T>::for_buffers(Body&& body) const {
  for (Buffer<double>* buffer :
       {&weights_.there, &shifts_.there, &column_weights_.there, &row_shift_, &column_shift_, &x_,
        &sums_, &partial_, &out_, &products_, &factors_, &gradients_.vectors})
    body(*buffer);
}

template <class T>
void CudaKernel<T>::use(const GroundCost& cost) {
  const OnGpu scope(gpu_);
  const Index rows = cost.rows(), columns = cost.columns() + 2;  // with what a stride adds
  const std::int64_t partial = std::max(partial_size(columns, processors_), partial_products(rows));
  double held = 0;
  for_buffers([&](const auto& buffer) { held += static_cast<double>(buffer.bytes()); });
  storage_->use(
      cost, static_cast<double>(partial + 4 * columns + 7 * rows + GradientBuffers::size(columns)),
      held, stream_);
  for (Buffer<double>* buffer :
       {&row_shift_, &weights_.there, &shifts_.there, &out_, &products_, &factors_})
    buffer->resize(rows);
  for (Buffer<double>* buffer : {&column_shift_, &x_, &sums_, &column_weights_.there})
    buffer->resize(storage_->stride());
  partial_.resize(partial);
  gradients_.vectors.resize(GradientBuffers::size(cost.columns()));
  gradients_.told.resized(2 * told_numbers);
  weights_.here.resize(0);
  shifts_.here.resize(0);
  column_weights_.here.resize(0);
  check(cudaStreamSynchronize(stream_), "the costs");
  check(cudaGetLastError(), "the costs");
}

// K of these rows, its products with the x that is in place and, if asked for, the costs of its
// rows.
template <class T>
void CudaKernel<T>::make_kernel_rows(Index first, Index count, double* costs) const {
  settled_ = false;
  const Exponents exponents{column_shift_.data(), row_shift_.data() + first, scale_, largest_};
  exponentials<T>(storage_->tile(first, count), exponents, x_.data(), products_.data() + first,
                  costs, partial_.data(), processors_, stream_);
}

// Exponents of the columns of a new K; those of the rows are within `largest_row`, or follow from
// them.
template <class T>
void CudaKernel<T>::set_exponents(double lambda, const Vector& columns, double largest_row) {
  has_rounded_ = false;
  scale_ = std::numbers::log2e / lambda * storage_->unit();
  // Entries are less than 2 in their unit.
  largest_ = 2 * (columns.cwiseAbs().maxCoeff() + 2 * scale_) + largest_row;
  send(columns, column_shift_);
}

template <class T>
void CudaKernel<T>::keep(const Vector& values, Kept& kept) const {
  if (kept.here.size() == values.size() && kept.here == values) return;
  send(values, kept.there);
  kept.here = values;
}

// What a sweep does to each row, with the weights of all rows on their way.
template <class T>
RowWork CudaKernel<T>::row_work(RowWork::Kind kind, const Vector* weights) const {
  RowWork work;
  work.kind = kind;
  if (!weights) return work;
  keep(*weights, weights_);
  work.weights = weights_.there.data();
  return work;
}

template <class T>
RowWork CudaKernel<T>::row_work(const RowRule& rule) const {
  RowWork work = row_work(kind_of(rule), &rule.weights());
  work.power = rule.power();
  return work;
}

// One sweep over the rows of a tile, whose x is in place. Sums begin anew with the first tile. Rows
// that were just made have their products already.
template <class T>
void CudaKernel<T>::sweep(Index first, Index count, RowWork work, bool just_made) const {
  if (work.weights) work.weights += first;
  work.shifts = shifts_.there.data() + first;
  work.out = out_.data() + first;
  const Tile<T> tile = storage_->tile(first, count);
  if (just_made)
    add_up<T>(tile, work, room(first), sums_.data(), first > 0, stream_);
  else
    cuda::sweep<T>(tile, x_.data(), work, settled_room(), sums_.data(), false, stream_);
}

// One sweep over all rows.
template <class T>
void CudaKernel<T>::sweep_all(const RowWork& work) const {
  for_made_tiles([&](Index first, Index count) { sweep(first, count, work, !storage_->stored()); });
}

template <class T>
Vector CudaKernel<T>::fetched(const Buffer<double>& from, Index count) const {
  Vector values(count);
  channel_.fetch({{from.data(), count, values.data()}});
  return values;
}

// The sums of the columns, and what the rule keeps of the rows.
template <class T>
Vector CudaKernel<T>::fetched_sums(const RowRule& rule) const {
  Vector sums(n());
  if (rule.factors())
    channel_.fetch({{sums_.data(), n(), sums.data()}, {out_.data(), m(), rule.factors()->data()}});
  else
    channel_.fetch({{sums_.data(), n(), sums.data()}});
  return sums;
}

template <class T>
Vector CudaKernel<T>::rescale(double lambda, const Vector& v, Vector& u, const RowRule& rule) {
  const OnGpu scope(gpu_);
  ++counts_.exponentials;
  const double s = std::numbers::log2e / lambda;
  set_exponents(lambda, v - s * cost().beta(), 0);
  send(Vector::Ones(n()), x_);
  const RowWork work = row_work(rule);
  const bool needs_u = work.kind == RowWork::meet_relaxed;
  shifts_.here.resize(0);
  Vector shifts(m());
  for_tiles([&](Index first, Index count) {
    find_shifts<T>(storage_->tile(first, count), column_shift_.data(), scale_,
                   row_shift_.data() + first, stream_);
    make_kernel_rows(first, count, nullptr);
    if (needs_u) {
      channel_.fetch({{row_shift_.data() + first, count, shifts.data() + first}});
      shifts.segment(first, count) += s * cost().alpha().segment(first, count);
      channel_.send(shifts.data() + first, count, shifts_.there.data() + first);
    }
    sweep(first, count, work, true);
  });
  if (!needs_u) shifts = fetched(row_shift_, m()) + s * cost().alpha();
  u = shifts;
  return fetched_sums(rule);
}

template <class T>
Kernel::Sums CudaKernel<T>::fix(double lambda, const Vector& f, const Vector& g) {
  const OnGpu scope(gpu_);
  ++counts_.exponentials;
  const double s = std::numbers::log2e / lambda;
  const Vector rows = s * (f - cost().alpha());
  set_exponents(lambda, s * (g - cost().beta()), rows.cwiseAbs().maxCoeff());
  send(rows, row_shift_);
  send(Vector::Ones(n()), x_);
  const RowWork work = row_work(RowWork::given, nullptr);
  for_tiles([&](Index first, Index count) {
    make_kernel_rows(first, count, out_.data() + first);
    sweep(first, count, work, true);
  });
  Sums out{Vector(m()), Vector(n()), 0};
  Vector costs(m());
  channel_.fetch({{out_.data(), m(), costs.data()},
                  {products_.data(), m(), out.rows.data()},  // with x = 1
                  {sums_.data(), n(), out.columns.data()}});
  out.cost = storage_->unit() * costs.sum() + cost().alpha().dot(out.rows) +
             cost().beta().dot(out.columns);
  return out;
}

template <class T>
Vector CudaKernel<T>::fused(const Vector& x, const RowRule& rule) const {
  const OnGpu scope(gpu_);
  ++counts_.fused;
  send(x, x_);
  const RowWork work = row_work(rule);
  if (work.kind == RowWork::meet_relaxed) keep(*rule.u(), shifts_);
  sweep_all(work);
  return fetched_sums(rule);
}

template <class T>
double CudaKernel<T>::log2_column_sum(Index j, const Vector& rows) const {
  const double scale = scale_ / storage_->unit();
  if (!cost().on_gpu()) return remblai::log2_column_sum(cost(), scale, j, rows);
  const OnGpu scope(gpu_);
  Eigen::Matrix<T, Eigen::Dynamic, 1> column(m());
  const auto stride = static_cast<std::size_t>(storage_->stride()) * sizeof(T);
  check(
      cudaMemcpy2DAsync(column.data(), sizeof(T), storage_->tile(0, m()).entries + j, stride,
                        sizeof(T), static_cast<std::size_t>(m()), cudaMemcpyDeviceToHost, stream_),
      "a column of the costs");
  check(cudaStreamSynchronize(stream_), "a column of the costs");
  return remblai::log2_column_sum(storage_->unit() * column.template cast<double>(), scale, rows,
                                  cost().shard());
}

// What products need.
#define REMBLAI_FOR(T)                                                          \
  template void CudaKernel<T>::make_kernel_rows(Index, Index, double*) const;   \
  template void CudaKernel<T>::keep(const Vector&, Kept&) const;                \
  template RowWork CudaKernel<T>::row_work(RowWork::Kind, const Vector*) const; \
  template void CudaKernel<T>::sweep_all(const RowWork&) const;                 \
  template Vector CudaKernel<T>::fetched(const Buffer<double>&, Index) const;
REMBLAI_FOR(float)
REMBLAI_FOR(double)
#undef REMBLAI_FOR

}  // namespace cuda

std::unique_ptr<Kernel> make_cuda_kernel(const Resources& resources, int gpu) {
  if (resources.precision == Precision::float64)
    return std::make_unique<cuda::CudaKernel<double>>(resources, gpu);
  return std::make_unique<cuda::CudaKernel<float>>(resources, gpu);
}

}  // namespace remblai
