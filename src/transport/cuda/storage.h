// What of the m x n matrix is in the memory of a GPU: all entries and K, or some rows at a time.
#pragma once

#include "remblai/resources.h"
#include "transport/cuda/channel.h"
#include "transport/cuda/runtime.h"
#include "transport/cuda/tile.h"
#include "transport/ground_cost.h"

namespace remblai::cuda {

/// Entries are costs without alpha and beta, in a unit of their own: a power of two that keeps
/// floats in their range, 1 in double. All calls are for the current GPU, and go to one stream.
template <class T>
class Storage {
 public:
  Storage(const Resources& resources, Channel& channel, const Blas& blas)
      : resources_(resources), channel_(channel), blas_(blas) {}

  /// Takes the costs, which must live until the next call. `beside` numbers in double are needed
  /// for other things, of which some bytes are held already. Throws Error where the memory is too
  /// small for it. Memory is kept from one call to the next.
  void use(const GroundCost& cost, double beside, double held, cudaStream_t stream);

  bool stored() const { return stored_; }
  Index stride() const { return stride_; }        ///< of the rows
  Index tile_rows() const { return tile_rows_; }  ///< that are there at a time
  double unit() const { return unit_; }
  const GroundCost& cost() const { return *cost_; }
  const Buffer<double>& u() const { return u_; }  ///< factors of the costs
  const Buffer<double>& v() const { return v_; }

  /// Rows that are there, or that have their places there.
  Tile<T> tile(Index first, Index count) const;

  /// Makes the entries of these rows, where they are not stored.
  void make_entries(Index first, Index count) const;

  /// A matrix of the same size in float, for what needs no more digits; without data where there is
  /// no room for it.
  Tile<float> rounded() const;

  /// Room for rows in double, as many as `staged_rows`, on their way from or to somewhere.
  Index staged_rows() const;
  double* staged() const;

  void release();

 private:
  static constexpr bool is_double = sizeof(T) == sizeof(double);

  Index m() const { return cost_->rows(); }
  Index n() const { return cost_->columns(); }
  double bytes() const;
  void plan(double beside, double held);
  void store(cudaStream_t stream);
  void keep_factors(cudaStream_t stream);

  Resources resources_;
  Channel& channel_;
  const Blas& blas_;
  const GroundCost* cost_ = nullptr;
  bool stored_ = true;
  mutable bool may_round_ = false;
  Index stride_ = 0, tile_rows_ = 0;
  double unit_ = 1;
  Buffer<T> entries_, kernel_;
  mutable Buffer<float> rounded_;
  mutable Buffer<double> staged_;
  Buffer<double> u_, v_;
  Buffer<float> split_u_, split_v_;  // in two parts, where entries are made in float
};

}  // namespace remblai::cuda
