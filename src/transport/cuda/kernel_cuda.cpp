// The kernel on a GPU: what goes there, what comes back, and how much of it is stored.
#include "transport/cuda/kernel_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "base/linalg.h"
#include "remblai/error.h"
#include "transport/cuda/entries.h"
#include "transport/cuda/runtime.h"
#include "transport/cuda/sweep.h"

namespace remblai {
namespace {

using cuda::Buffer;
using cuda::check;

// Of a matrix in double that stands between the product and its rounded copy.
constexpr std::int64_t staged_bytes = std::int64_t{1} << 28;

cuda::RowWork::Kind kind_of(const RowRule& rule) {
  switch (rule.kind()) {
    case RowRule::Kind::weigh:
      return cuda::RowWork::weigh;
    case RowRule::Kind::meet_exact:
      return cuda::RowWork::meet_exact;
    case RowRule::Kind::meet_relaxed:
      return cuda::RowWork::meet_relaxed;
  }
  return cuda::RowWork::weigh;
}

// Calls within its scope go to one GPU.
class OnGpu {
 public:
  explicit OnGpu(int gpu) {
    check(cudaGetDevice(&before_), "its number");
    check(cudaSetDevice(gpu), "to be used");
  }
  ~OnGpu() { cudaSetDevice(before_); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  int before_ = 0;
};

template <class T>
class CudaKernel final : public Kernel {
 public:
  CudaKernel(const Resources& resources, int gpu);
  ~CudaKernel() override;

  void use(const GroundCost& cost) override;
  Vector rescale(double lambda, const Vector& v, Vector& u, const RowRule& rule) override;
  Sums fix(double lambda, const Vector& f, const Vector& g) override;
  Vector fused(const Vector& x, const RowRule& rule) const override;
  Vector times(const Vector& x) const override;
  Vector transpose_times(const Vector& y) const override;
  Matrix times(const Matrix& y) const override;
  Matrix matrix() const override;
  double between(const Vector& y, const Vector& x) const override;
  Vector squares_transpose_times(const Vector& w) const override;
  double log2_column_sum(Index j, const Vector& rows) const override;
  Index most_factored() const override { return 0; }
  bool factorise(const Vector&, const Vector&, const Vector&) override { return false; }
  Vector precondition(const Vector& y) const override { return y; }
  double safe_log2() const override { return is_double ? 300 : 20; }
  double rounding() const override { return is_double ? 1e-11 : 1e-5; }

 private:
  static constexpr bool is_double = std::is_same_v<T, double>;

  Index m() const { return cost_->rows(); }
  Index n() const { return cost_->columns(); }
  void plan_memory();
  std::int64_t partial_numbers() const {
    return std::max(cuda::partial_size(stride_, processors_), cuda::partial_products(m()));
  }
  void store_entries();
  void make_entries(Index first, Index count) const;
  cuda::Tile<T> tile(Index first, Index count) const;
  template <class Body>
  void for_buffers(Body&& body) const;
  Index staged_rows() const;
  template <class Body>
  void for_tiles(Body&& body) const;
  void make_kernel_rows(Index first, Index count) const;
  template <class Body>
  void for_made_tiles(Body&& body) const;
  template <class Body>
  void for_staged_parts(Body&& body) const;
  cuda::SweepRoom room(Index first) const {
    return {partial_.data(), products_.data() + first, factors_.data() + first,
            processors_,     shared_memory_,           clusters_};
  }
  void set_columns(double lambda, const Vector& exponents);
  cuda::RowWork row_work(cuda::RowWork::Kind kind, const Vector* weights) const;
  cuda::RowWork row_work(const RowRule& rule) const;
  void sweep(Index first, Index count, cuda::RowWork work, bool just_made) const;
  void send(const double* from, Index count, double* to) const;
  void fetch(const double* from, Index count, double* to) const;
  Vector fetch_sums() const;

  Resources resources_;
  int gpu_;
  int processors_ = 1, shared_memory_ = 0;
  bool clusters_ = false;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<cuda::Blas> blas_;
  const GroundCost* cost_ = nullptr;
  bool stored_ = true;
  Index stride_ = 0, tile_rows_ = 0;
  double unit_ = 1;   // of the entries
  double scale_ = 0;  // log2(e)/lambda, for entries in their unit
  mutable Buffer<T> entries_, kernel_;
  mutable Buffer<double> staged_;            // rows in double, on their way
  mutable Buffer<double> u_, v_;             // factors of the costs
  mutable Buffer<float> split_u_, split_v_;  // in two parts, where entries are made in float
  mutable Buffer<double> row_shift_, column_shift_;
  mutable Buffer<double> x_, sums_, partial_, weights_, shifts_, out_, products_, factors_;
};

template <class T>
CudaKernel<T>::CudaKernel(const Resources& resources, int gpu) : resources_(resources), gpu_(gpu) {
  const OnGpu scope(gpu_);
  check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, gpu_), "its size");
  check(cudaDeviceGetAttribute(&shared_memory_, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu_),
        "its size");
  clusters_ = cuda::clusters_work();
  blas_ = std::make_unique<cuda::Blas>();
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  blas_->use(stream_);
}

template <class T>
CudaKernel<T>::~CudaKernel() {
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(gpu_);
  blas_.reset();
  cudaStreamDestroy(stream_);
  for_buffers([](auto& buffer) { buffer.release(); });
  cudaSetDevice(before);
}

template <class T>
template <class Body>
void CudaKernel<T>::for_buffers(Body&& body) const {
  for (Buffer<T>* buffer : {&entries_, &kernel_}) body(*buffer);
  for (Buffer<float>* buffer : {&split_u_, &split_v_}) body(*buffer);
  for (Buffer<double>* buffer : {&staged_, &u_, &v_, &row_shift_, &column_shift_, &x_, &sums_,
                                 &partial_, &weights_, &shifts_, &out_, &products_, &factors_})
    body(*buffer);
}

template <class T>
void CudaKernel<T>::send(const double* from, Index count, double* to) const {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(double),
                        cudaMemcpyHostToDevice, stream_),
        "numbers from the processor");
}

// Waits for all that was asked for before.
template <class T>
void CudaKernel<T>::fetch(const double* from, Index count, double* to) const {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(double),
                        cudaMemcpyDeviceToHost, stream_),
        "numbers for the processor");
  check(cudaStreamSynchronize(stream_), "a pass over the matrix");
  check(cudaGetLastError(), "a pass over the matrix");
}

// All entries and K, or as many rows of them as fit.
template <class T>
void CudaKernel<T>::plan_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "the size of its memory");
  const double rows = static_cast<double>(m()), columns = static_cast<double>(stride_);
  const double row_bytes = 2 * sizeof(T) * columns;
  const double k = cost_->is_dense() ? 0 : static_cast<double>(cost_->u().cols());
  const double numbers = static_cast<double>(partial_numbers()) + 4 * columns + 7 * rows +
                         (rows + columns) * (is_double ? k : 2.5 * k);
  const double beside = sizeof(double) * numbers + static_cast<double>(staged_bytes);
  double held = 0;
  for_buffers([&](const auto& buffer) { held += static_cast<double>(buffer.bytes()); });
  const double room = 0.9 * (static_cast<double>(free) + held) - beside;
  const double given = resources_.memory_bytes();
  const double allowed = given > 0 ? std::min(given, room) : room;
  stored_ = row_bytes * rows <= (cost_->is_dense() ? room : allowed);
  const double least = row_bytes * (cost_->is_dense() ? rows : 1);
  if (least > room)
    throw Error({.field = "device",
                 .value = fmt::format("{:.1f} GiB free", static_cast<double>(free) / 0x1p30),
                 .problem = fmt::format("are not enough for {} x {} points, which need {:.1f} GiB",
                                        m(), n(), (least + beside) / 0x1p30),
                 .remedy = "give the $device cpu"});
  // Four gigabytes of rows are enough for the GPU to be busy, which likes round numbers of them.
  auto some = static_cast<Index>(std::max(1.0, std::min(allowed, 0x1p32) / row_bytes));
  if (some > 256) some -= some % 256;
  tile_rows_ = stored_ ? m() : std::min(m(), some);
}

template <class T>
void CudaKernel<T>::use(const GroundCost& cost) {
  const OnGpu scope(gpu_);
  cost_ = &cost;
  constexpr Index lane = 16 / sizeof(T);
  stride_ = (n() + lane - 1) / lane * lane;
  plan_memory();
  entries_.resize(tile_rows_ * stride_);
  check(cudaMemset2DAsync(entries_.data() + n(), static_cast<std::size_t>(stride_) * sizeof(T), 0,
                          static_cast<std::size_t>(stride_ - n()) * sizeof(T),
                          static_cast<std::size_t>(tile_rows_), stream_),
        "zeros beyond the last column");
  kernel_.resize(tile_rows_ * stride_);
  for (Buffer<double>* buffer : {&row_shift_, &weights_, &shifts_, &out_, &products_, &factors_})
    buffer->resize(m());
  for (Buffer<double>* buffer : {&column_shift_, &x_, &sums_}) buffer->resize(stride_);
  partial_.resize(partial_numbers());
  unit_ = 1;
  if (!cost.is_dense()) {
    const Index k = cost.u().cols();
    u_.resize(m() * k);
    v_.resize(n() * k);
    send(cost.u().data(), m() * k, u_.data());
    send(cost.v().data(), n() * k, v_.data());
  }
  if (stored_) {
    store_entries();
  } else if constexpr (!is_double) {
    const double u_size = linalg::power_of_two_above(linalg::longest_row(cost.u()));
    const double v_size = linalg::power_of_two_above(linalg::longest_row(cost.v()));
    unit_ = u_size * v_size;
    const Index k = cost.u().cols();
    split_u_.resize(3 * m() * k);
    split_v_.resize(3 * n() * k);
    cuda::split(u_.data(), 1 / u_size, m(), k, cuda::Side::left, split_u_.data(), stream_);
    cuda::split(v_.data(), 1 / v_size, n(), k, cuda::Side::right, split_v_.data(), stream_);
  }
  check(cudaStreamSynchronize(stream_), "the costs");
  check(cudaGetLastError(), "the costs");
}

// Rows in double that fit the room for them.
template <class T>
Index CudaKernel<T>::staged_rows() const {
  return std::clamp<Index>(staged_bytes / static_cast<Index>(sizeof(double)) / n(), 1, m());
}

// Products are made in double, which tensor cores do as fast as float, and rounded once.
template <class T>
void CudaKernel<T>::store_entries() {
  const GroundCost& cost = *cost_;
  const bool dense = cost.is_dense();
  if constexpr (!is_double)
    unit_ = linalg::power_of_two_above(dense ? cost.matrix().cwiseAbs().maxCoeff()
                                             : 2 * linalg::longest_row(cost.u()) *
                                                   linalg::longest_row(cost.v()));
  if (is_double && !dense) return make_entries(0, m());
  const Index rows = staged_rows();
  staged_.resize(rows * n());
  for (Index first = 0; first < m(); first += rows) {
    const Index count = std::min(rows, m() - first);
    if (dense)
      send(cost.matrix().row(first).data(), count * n(), staged_.data());
    else
      blas_->times_transpose(count, n(), cost.u().cols(), -2.0, u_.data() + first * cost.u().cols(),
                             v_.data(), staged_.data(), n());
    cuda::narrow<T>(staged_.data(), 1 / unit_, tile(first, count), stream_);
    if (dense) check(cudaStreamSynchronize(stream_), "the costs");
  }
}

template <class T>
void CudaKernel<T>::make_entries(Index first, Index count) const {
  const Index k = cost_->u().cols();
  T* to = tile(first, count).entries;
  if constexpr (is_double)
    blas_->times_transpose(count, n(), k, -2.0, u_.data() + first * k, v_.data(), to, stride_);
  else
    blas_->times_transpose_of_split(count, n(), 3 * k, -2.0F, split_u_.data() + first * 3 * k,
                                    split_v_.data(), to, stride_);
}

template <class T>
cuda::Tile<T> CudaKernel<T>::tile(Index first, Index count) const {
  const Index offset = stored_ ? first * stride_ : 0;
  return {entries_.data() + offset, kernel_.data() + offset, count, n(), stride_};
}

// body(first row, number of rows), with the entries of these rows at hand.
template <class T>
template <class Body>
void CudaKernel<T>::for_tiles(Body&& body) const {
  for (Index first = 0; first < m(); first += tile_rows_) {
    const Index count = std::min(tile_rows_, m() - first);
    if (!stored_) make_entries(first, count);
    body(first, count);
  }
}

// K of these rows, and its products with the x that is in place.
template <class T>
void CudaKernel<T>::make_kernel_rows(Index first, Index count) const {
  cuda::exponentials<T>(tile(first, count), column_shift_.data(), scale_, row_shift_.data() + first,
                        x_.data(), products_.data() + first, partial_.data(), processors_, stream_);
}

// The same as for_tiles, with K at hand.
template <class T>
template <class Body>
void CudaKernel<T>::for_made_tiles(Body&& body) const {
  for_tiles([&](Index first, Index count) {
    if (!stored_) make_kernel_rows(first, count);
    body(first, count);
  });
}

// body(first row, these rows of K), as many at a time as can be staged.
template <class T>
template <class Body>
void CudaKernel<T>::for_staged_parts(Body&& body) const {
  const Index rows = staged_rows();
  staged_.resize(rows * n());
  for_made_tiles([&](Index first, Index count) {
    for (Index begin = 0; begin < count; begin += rows) {
      cuda::Tile<T> part = tile(first, count);
      part.kernel += begin * stride_;
      part.rows = std::min(rows, count - begin);
      body(first + begin, part);
    }
  });
}

template <class T>
void CudaKernel<T>::set_columns(double lambda, const Vector& exponents) {
  scale_ = std::numbers::log2e / lambda * unit_;
  send(exponents.data(), n(), column_shift_.data());
  check(cudaStreamSynchronize(stream_), "the potentials");  // they may not live any longer
}

// What a sweep does to each row, with the weights of all rows on their way.
template <class T>
cuda::RowWork CudaKernel<T>::row_work(cuda::RowWork::Kind kind, const Vector* weights) const {
  cuda::RowWork work;
  work.kind = kind;
  if (weights) send(weights->data(), m(), weights_.data());
  return work;
}

template <class T>
cuda::RowWork CudaKernel<T>::row_work(const RowRule& rule) const {
  cuda::RowWork work = row_work(kind_of(rule), &rule.weights());
  work.power = rule.power();
  return work;
}

// One sweep over the rows of a tile, whose x is in place. Sums begin anew with the first tile. Rows
// that were just made have their products already.
template <class T>
void CudaKernel<T>::sweep(Index first, Index count, cuda::RowWork work, bool just_made) const {
  work.weights = weights_.data() + first;
  work.shifts = shifts_.data() + first;
  work.out = out_.data() + first;
  if (just_made)
    cuda::add_up<T>(tile(first, count), work, room(first), sums_.data(), first > 0, stream_);
  else
    cuda::sweep<T>(tile(first, count), x_.data(), work, room(first), sums_.data(), first > 0,
                   stream_);
}

template <class T>
Vector CudaKernel<T>::fetch_sums() const {
  Vector sums(n());
  fetch(sums_.data(), n(), sums.data());
  return sums;
}

template <class T>
Vector CudaKernel<T>::rescale(double lambda, const Vector& v, Vector& u, const RowRule& rule) {
  const OnGpu scope(gpu_);
  ++counts_.exponentials;
  const double s = std::numbers::log2e / lambda;
  set_columns(lambda, v - s * cost_->beta());
  const Vector ones = Vector::Ones(n());
  send(ones.data(), n(), x_.data());
  const cuda::RowWork work = row_work(rule);
  for_tiles([&](Index first, Index count) {
    cuda::find_shifts<T>(tile(first, count), column_shift_.data(), scale_,
                         row_shift_.data() + first, stream_);
    make_kernel_rows(first, count);
    fetch(row_shift_.data() + first, count, u.data() + first);
    u.segment(first, count) += s * cost_->alpha().segment(first, count);
    if (work.kind == cuda::RowWork::meet_relaxed)
      send(u.data() + first, count, shifts_.data() + first);
    sweep(first, count, work, true);
  });
  if (rule.factors()) fetch(out_.data(), m(), rule.factors()->data());
  return fetch_sums();
}

template <class T>
Kernel::Sums CudaKernel<T>::fix(double lambda, const Vector& f, const Vector& g) {
  const OnGpu scope(gpu_);
  ++counts_.exponentials;
  const double s = std::numbers::log2e / lambda;
  const Vector rows = s * (f - cost_->alpha());
  set_columns(lambda, s * (g - cost_->beta()));
  send(rows.data(), m(), row_shift_.data());
  const Vector ones = Vector::Ones(std::max(m(), n()));
  send(ones.data(), n(), x_.data());
  Sums out{Vector(m()), {}, 0};
  Vector costs(m());
  const cuda::RowWork work = row_work(cuda::RowWork::given, &ones);
  for_tiles([&](Index first, Index count) {
    make_kernel_rows(first, count);
    cuda::row_costs<T>(tile(first, count), out_.data() + first, stream_);
    sweep(first, count, work, true);
  });
  fetch(out_.data(), m(), costs.data());
  fetch(products_.data(), m(), out.rows.data());  // with x = 1
  out.columns = fetch_sums();
  out.cost = unit_ * costs.sum() + cost_->alpha().dot(out.rows) + cost_->beta().dot(out.columns);
  return out;
}

template <class T>
Vector CudaKernel<T>::fused(const Vector& x, const RowRule& rule) const {
  const OnGpu scope(gpu_);
  ++counts_.fused;
  send(x.data(), n(), x_.data());
  const cuda::RowWork work = row_work(rule);
  if (work.kind == cuda::RowWork::meet_relaxed) send(rule.u()->data(), m(), shifts_.data());
  for_made_tiles([&](Index first, Index count) { sweep(first, count, work, !stored_); });
  if (rule.factors()) fetch(out_.data(), m(), rule.factors()->data());
  return fetch_sums();
}

template <class T>
Vector CudaKernel<T>::times(const Vector& x) const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  send(x.data(), n(), x_.data());
  const cuda::RowWork work = row_work(cuda::RowWork::keep, nullptr);
  for_made_tiles([&](Index first, Index count) { sweep(first, count, work, !stored_); });
  Vector y(m());
  fetch(out_.data(), m(), y.data());
  return y;
}

template <class T>
Vector CudaKernel<T>::transpose_times(const Vector& y) const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  const cuda::RowWork work = row_work(cuda::RowWork::given, &y);
  for_made_tiles([&](Index first, Index count) { sweep(first, count, work, !stored_); });
  return fetch_sums();
}

template <class T>
Vector CudaKernel<T>::squares_transpose_times(const Vector& w) const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  cuda::RowWork work = row_work(cuda::RowWork::given, &w);
  work.squares = true;
  for_made_tiles([&](Index first, Index count) { sweep(first, count, work, !stored_); });
  return fetch_sums();
}

// The costs are where the passes need them: dense ones as entries, others as their factors.
template <class T>
double CudaKernel<T>::between(const Vector& y, const Vector& x) const {
  const OnGpu scope(gpu_);
  const GroundCost& cost = *cost_;
  if (cost.is_dense()) {
    cuda::Tile<T> costs = tile(0, m());
    costs.kernel = costs.entries;
    cuda::RowWork work;
    work.kind = cuda::RowWork::keep;
    work.out = out_.data();
    send(x.data(), n(), x_.data());
    cuda::sweep<T>(costs, x_.data(), work, room(0), sums_.data(), false, stream_);
    Vector products(m());
    fetch(out_.data(), m(), products.data());
    return unit_ * y.dot(products);
  }
  const Index k = cost.u().cols();
  Buffer<double> product;
  product.resize(k);
  const auto times = [&](const Vector& weights, const Buffer<double>& room,
                         const Buffer<double>& factor) {
    Vector out(k);
    send(weights.data(), weights.size(), room.data());
    blas_->times(1, weights.size(), k, room.data(), weights.size(), factor.data(), product.data());
    fetch(product.data(), k, out.data());
    return out;
  };
  const Vector left = times(y, weights_, u_), right = times(x, x_, v_);
  return y.dot(cost.alpha()) * x.sum() + x.dot(cost.beta()) * y.sum() - 2 * left.dot(right);
}

template <class T>
Matrix CudaKernel<T>::times(const Matrix& y) const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  const Index k = y.cols();
  Matrix product(m(), k);
  if (k == 0) return product;
  Buffer<double> right, left;
  right.resize(y.size());
  send(y.data(), y.size(), right.data());
  left.resize(staged_rows() * k);
  for_staged_parts([&](Index first, const cuda::Tile<T>& part) {
    const double* from = staged_.data();
    if constexpr (is_double)
      from = part.kernel;
    else
      cuda::widen<T>(part, staged_.data(), stream_);
    blas_->times(part.rows, n(), k, from, is_double ? stride_ : n(), right.data(), left.data());
    fetch(left.data(), part.rows * k, product.row(first).data());
  });
  return product;
}

template <class T>
Matrix CudaKernel<T>::matrix() const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  Matrix out(m(), n());
  for_staged_parts([&](Index first, const cuda::Tile<T>& part) {
    cuda::widen<T>(part, staged_.data(), stream_);
    fetch(staged_.data(), part.rows * n(), out.row(first).data());
  });
  return out;
}

template <class T>
double CudaKernel<T>::log2_column_sum(Index j, const Vector& rows) const {
  return remblai::log2_column_sum(*cost_, scale_ / unit_, j, rows);
}

}  // namespace

std::unique_ptr<Kernel> make_cuda_kernel(const Resources& resources, int gpu) {
  if (resources.precision == Precision::float64)
    return std::make_unique<CudaKernel<double>>(resources, gpu);
  return std::make_unique<CudaKernel<float>>(resources, gpu);
}

}  // namespace remblai
