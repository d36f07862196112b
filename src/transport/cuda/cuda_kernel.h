// The class of the kernel on a GPU, for the files that make its passes and its products.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "transport/cuda/channel.h"
#include "transport/cuda/entries.h"
#include "transport/cuda/gradients_cuda.h"
#include "transport/cuda/iterations_cuda.h"
#include "transport/cuda/runtime.h"
#include "transport/cuda/storage.h"
#include "transport/cuda/sweep.h"
#include "transport/kernel.h"

namespace remblai::cuda {

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
  MatrixOnGpu matrix_on_gpu() const override;
  double between(const Vector& y, const Vector& x) const override;
  Vector squares_transpose_times(const Vector& w) const override;
  double log2_column_sum(Index j, const Vector& rows) const override;
  Index most_factored() const override { return 0; }
  bool factorise(const Vector&, const Vector&, const Vector&) override { return false; }
  Vector precondition(const Vector& y) const override { return y; }
  std::unique_ptr<Gradients> gradients(const Hessian& hessian, const Vector& x,
                                       const Vector& residual, const Vector*) const override;
  std::unique_ptr<Iterations> iterations(const Vector& rows, const Vector& columns,
                                         const Vector& sums) const override;
  double safe_log2() const override { return is_double ? 300 : 20; }
  double rounding() const override { return is_double ? 1e-11 : 1e-5; }
  bool long_passes() const override { return !storage_->stored(); }

 private:
  static constexpr bool is_double = std::is_same_v<T, double>;

  // A vector on the GPU that is sent only when it is not there yet.
  struct Kept {
    Buffer<double> there;
    Vector here;
  };

  const GroundCost& cost() const { return storage_->cost(); }
  Index m() const { return cost().rows(); }
  Index n() const { return cost().columns(); }
  template <class Body>
  void for_buffers(Body&& body) const;
  template <class Body>
  void for_tiles(Body&& body) const;
  void make_kernel_rows(Index first, Index count, double* costs) const;
  template <class Body>
  void for_made_tiles(Body&& body) const;
  template <class Body>
  void for_staged_parts(Body&& body) const;
  SweepRoom room(Index first) const {
    return {partial_.data(),
            products_.data() + first,
            factors_.data() + first,
            gpu_,
            processors_,
            shared_memory_,
            cache_,
            clusters_,
            false};
  }
  // For a sweep over the whole of a matrix that is there.
  SweepRoom settled_room() const {
    SweepRoom all = room(0);
    all.settled = std::exchange(settled_, true);
    return all;
  }
  void set_exponents(double lambda, const Vector& columns, double largest_row);
  void keep(const Vector& values, Kept& kept) const;
  RowWork row_work(RowWork::Kind kind, const Vector* weights) const;
  RowWork row_work(const RowRule& rule) const;
  void sweep(Index first, Index count, RowWork work, bool just_made) const;
  void sweep_all(const RowWork& work) const;
  void send(const Vector& from, const Buffer<double>& to) const {
    channel_.send(from.data(), from.size(), to.data());
  }
  Vector fetched(const Buffer<double>& from, Index count) const;
  Vector fetched_sums(const RowRule& rule) const;
  Tile<float> rounded(const Hessian& hessian, const Vector& root, bool& scaled) const;

  int gpu_;
  int processors_ = 1, shared_memory_ = 0, cache_ = 0;
  bool clusters_ = false;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t tiles_done_[2] = {};
  mutable Channel channel_;
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<Storage<T>> storage_;
  double scale_ = 0;                  // log2(e)/lambda, for entries in their unit
  double largest_ = 0;                // bound of the terms of an exponent
  mutable bool has_rounded_ = false;  // K itself, in float
  mutable bool settled_ = false;      // both matrices were there before the last sweep
  mutable Kept weights_, shifts_, column_weights_;
  mutable Buffer<double> row_shift_, column_shift_;
  mutable Buffer<double> x_, sums_, partial_, out_, products_, factors_;
  mutable GradientBuffers gradients_;
};

// body(first row, number of rows), with the entries of these rows at hand. Where they are made, two
// tiles are under way at most, so that a stop need not wait for more.
template <class T>
template <class Body>
void CudaKernel<T>::for_tiles(Body&& body) const {
  const Index some = storage_->tile_rows();
  int turn = 0;
  for (Index first = 0; first < m(); first += some) {
    const Index count = std::min(some, m() - first);
    if (storage_->stored()) {
      body(first, count);
      continue;
    }
    check(cudaEventSynchronize(tiles_done_[turn]), "a pass over the matrix");
    if (!goes_on()) throw Interrupted();
    storage_->make_entries(first, count);
    body(first, count);
    check(cudaEventRecord(tiles_done_[turn], stream_), "an event");
    turn = 1 - turn;
  }
}

// The same as for_tiles, with K at hand.
template <class T>
template <class Body>
void CudaKernel<T>::for_made_tiles(Body&& body) const {
  for_tiles([&](Index first, Index count) {
    if (!storage_->stored()) make_kernel_rows(first, count, nullptr);
    body(first, count);
  });
}

// body(first row, these rows of K), as many at a time as can be staged.
template <class T>
template <class Body>
void CudaKernel<T>::for_staged_parts(Body&& body) const {
  const Index rows = storage_->staged_rows();
  for_made_tiles([&](Index first, Index count) {
    for (Index begin = 0; begin < count; begin += rows) {
      Tile<T> part = storage_->tile(first, count);
      part.kernel += begin * storage_->stride();
      part.rows = std::min(rows, count - begin);
      body(first + begin, part);
    }
  });
}

}  // namespace remblai::cuda
