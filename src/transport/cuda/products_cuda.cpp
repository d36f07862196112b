// Products with the kernel on a GPU, and the vectors of Newton steps there.
#include <cmath>
#include <utility>

#include "transport/cuda/cuda_kernel.h"

namespace remblai::cuda {

template <class T>
Vector CudaKernel<T>::times(const Vector& x) const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  send(x, x_);
  sweep_all(row_work(RowWork::keep, nullptr));
  return fetched(out_, m());
}

template <class T>
Vector CudaKernel<T>::transpose_times(const Vector& y) const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  sweep_all(row_work(RowWork::given, &y));
  return fetched(sums_, n());
}

template <class T>
Vector CudaKernel<T>::squares_transpose_times(const Vector& w) const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  RowWork work = row_work(RowWork::given, &w);
  work.squares = true;
  sweep_all(work);
  return fetched(sums_, n());
}

// K in float, where there is room for it. While the factors around it are moderate, what float
// takes for 0 is nothing beside a double, and the same copy serves until K is made anew. Else it is
// `scaled`: M = diag(sqrt(weights)) K diag(b / root), whose entries are within 1, whatever the
// factors are.
template <class T>
Tile<float> CudaKernel<T>::rounded(const Hessian& hessian, const Vector& root, bool& scaled) const {
  if constexpr (is_double) {
    const Tile<float> to = storage_->rounded();
    if (!to.kernel || !(root.minCoeff() > 0)) return {};
    const Vector right = hessian.b.cwiseQuotient(root);
    scaled = !(std::sqrt(hessian.weights.maxCoeff()) * right.maxCoeff() < 0x1p60);
    if (scaled) {
      keep(hessian.weights.cwiseSqrt(), weights_);
      send(right, x_);
      settled_ = false;
      round(storage_->tile(0, m()), weights_.there.data(), x_.data(), to, stream_);
    } else if (!has_rounded_) {
      settled_ = false;
      round(storage_->tile(0, m()), nullptr, nullptr, to, stream_);
    }
    has_rounded_ = !scaled;
    return to;
  } else {
    return storage_->tile(0, m());
  }
}

constexpr Index entries_of_short_pass = 400'000'000;  // about 0.4 ms in float

// Between two exact sides H is a Laplacian: the row sums of a matrix of entries of 0 or more on the
// diagonal, less that matrix. Entries may be rounded to float then without harm, as long as the
// diagonal has their own sums and these are made in double: no eigenvalue changes by more than a
// few millionths of itself. So a kernel in double is read in float, where it is scaled as M with
// H = diag(root) (diag(M'M root / root) - M'M) diag(root).
template <class T>
std::unique_ptr<Gradients> CudaKernel<T>::gradients(const Hessian& hessian, const Vector& x,
                                                    const Vector& residual, const Vector*) const {
  const OnGpu scope(gpu_);
  const Vector root = hessian.diagonal.cwiseSqrt();
  const bool laplacian =
      hessian.singular && storage_->stored() && n() <= most_columns_in_double(room(0));
  bool scaled = false;  // by weights and b
  const Tile<float> narrow = laplacian ? rounded(hessian, root, scaled) : Tile<float>();
  const bool narrowed = narrow.kernel != nullptr;
  const RowWork weighed = row_work(RowWork::weigh, scaled ? nullptr : &hessian.weights);
  const auto multiply = [=, this](CudaGradients::Ask ask) {
    const OnGpu there(gpu_);
    RowWork work = weighed;
    const bool squares = ask == CudaGradients::Ask::squares;
    ++(squares ? counts_.products : counts_.fused);
    if (squares) {
      work.kind = RowWork::given;
      work.squares = true;
    }
    if (!narrowed)
      sweep_all(work);
    else if (!sweep_in_double(narrow, x_.data(), work, settled_room(), sums_.data(), stream_))
      check(cudaErrorLaunchOutOfResources, "a product with a rounded matrix");
  };
  // A step that turns out to be one too many costs a pass; waiting costs about 0.01 ms each time.
  const bool ahead = storage_->stored() && m() <= entries_of_short_pass / n();
  auto vectors = std::make_unique<CudaGradients>(channel_, gradients_, x_.data(), sums_.data(),
                                                 stream_, clusters_, ahead, multiply);
  vectors->start(narrowed ? nullptr : &hessian.diagonal, scaled ? root : hessian.b, x, residual);
  return vectors;
}

// Where a pass makes the rows anew, it takes so long that it does not matter where the vectors are.
template <class T>
std::unique_ptr<Iterations> CudaKernel<T>::iterations(const Vector& rows, const Vector& columns,
                                                      const Vector& sums) const {
  if (!storage_->stored()) return nullptr;
  const OnGpu scope(gpu_);
  RowWork work = row_work(RowWork::meet_exact, &rows);
  keep(columns, column_weights_);
  send(sums, sums_);
  IterationRoom room;
  room.rows = m();
  room.columns = n();
  room.row_weights = work.weights;
  room.column_weights = column_weights_.there.data();
  room.a = out_.data();
  room.b = x_.data();
  room.sums = sums_.data();
  room.safe = std::exp2(safe_log2());
  room.clusters = clusters_;
  return std::make_unique<CudaIterations>(channel_, room, gradients_.told.resized(2 * told_numbers),
                                          stream_, [work, this] {
                                            ++counts_.fused;
                                            sweep_all(work);
                                          });
}

// The costs are where the passes need them: dense ones as entries, others as their factors.
template <class T>
double CudaKernel<T>::between(const Vector& y, const Vector& x) const {
  const OnGpu scope(gpu_);
  if (cost().is_dense()) {
    Tile<T> costs = storage_->tile(0, m());
    costs.kernel = costs.entries;
    RowWork work;
    work.kind = RowWork::keep;
    work.out = out_.data();
    send(x, x_);
    cuda::sweep<T>(costs, x_.data(), work, room(0), sums_.data(), false, stream_);
    return storage_->unit() * y.dot(fetched(out_, m()));
  }
  const Index k = cost().u().cols();
  Buffer<double> product;
  product.resize(k);
  const auto times = [&](const Vector& weights, const Buffer<double>& room,
                         const Buffer<double>& factor) {
    send(weights, room);
    blas_->times(1, weights.size(), k, room.data(), weights.size(), factor.data(), product.data());
    return fetched(product, k);
  };
  const Vector left = times(y, out_, storage_->u()), right = times(x, x_, storage_->v());
  return y.dot(cost().alpha()) * x.sum() + x.dot(cost().beta()) * y.sum() - 2 * left.dot(right);
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
  channel_.send(y.data(), y.size(), right.data());
  left.resize(storage_->staged_rows() * k);
  for_staged_parts([&](Index first, const Tile<T>& part) {
    const double* from = nullptr;
    if constexpr (is_double)
      from = part.kernel;
    else
      widen<T>(part, storage_->staged(), stream_), from = storage_->staged();
    blas_->times(part.rows, n(), k, from, is_double ? storage_->stride() : n(), right.data(),
                 left.data());
    channel_.fetch({{left.data(), part.rows * k, product.row(first).data()}});
  });
  return product;
}

template <class T>
Matrix CudaKernel<T>::matrix() const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  Matrix out(m(), n());
  for_staged_parts([&](Index first, const Tile<T>& part) {
    widen<T>(part, storage_->staged(), stream_);
    channel_.fetch({{storage_->staged(), part.rows * n(), out.row(first).data()}});
  });
  return out;
}

template <class T>
MatrixOnGpu CudaKernel<T>::matrix_on_gpu() const {
  const OnGpu scope(gpu_);
  ++counts_.products;
  const auto buffer = std::make_shared<Buffer<double>>();
  buffer->resize(m() * n());
  for_made_tiles([&](Index first, Index count) {
    widen<T>(storage_->tile(first, count), buffer->data() + first * n(), stream_);
  });
  check(cudaStreamSynchronize(stream_), "the plan");
  check(cudaGetLastError(), "the plan");
  return {buffer->data(), false, m(), n(), gpu_, buffer};
}

#define REMBLAI_FOR(T)                                                                         \
  template Vector CudaKernel<T>::times(const Vector&) const;                                   \
  template Vector CudaKernel<T>::transpose_times(const Vector&) const;                         \
  template Matrix CudaKernel<T>::times(const Matrix&) const;                                   \
  template Matrix CudaKernel<T>::matrix() const;                                               \
  template MatrixOnGpu CudaKernel<T>::matrix_on_gpu() const;                                   \
  template double CudaKernel<T>::between(const Vector&, const Vector&) const;                  \
  template Vector CudaKernel<T>::squares_transpose_times(const Vector&) const;                 \
  template std::unique_ptr<Iterations> CudaKernel<T>::iterations(const Vector&, const Vector&, \
                                                                 const Vector&) const;         \
  template std::unique_ptr<Gradients> CudaKernel<T>::gradients(                                \
      const Hessian&, const Vector&, const Vector&, const Vector*) const;
REMBLAI_FOR(float)
REMBLAI_FOR(double)
#undef REMBLAI_FOR

}  // namespace remblai::cuda
