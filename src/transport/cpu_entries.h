// The entries of a cost matrix on the processor: stored, or made a few rows at a time.
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "remblai/resources.h"
#include "transport/column_sums.h"
#include "transport/ground_cost.h"

namespace remblai {

/// How a kernel on the processor divides its work and its memory.
struct WorkPlan {
  bool stored = true;  ///< costs, K and the copy in float that Newton steps factorise
  int threads = 1;
  Index pieces = 1;       ///< of the rows, each with column sums of its own
  Index made_rows = 1;    ///< at a time, when they are not stored or divided among processes
  bool by_shard = false;  ///< pieces are those of the shard of the rows
};

/// The plan for m x n entries of `entry_size` bytes within `memory` bytes. What is stored has to
/// fit; else the blocks of all threads and the column sums of all pieces have to, but for one row a
/// thread and one piece, which there always are. Neither the number of pieces nor the size of a
/// block depends on the number of threads, so that sums do not either; where rows are divided among
/// processes, nor on the number of these, but for too little memory. All of these store entries or
/// none does: what they ask each other depends on it. Dense costs are always stored.
WorkPlan plan_work(const GroundCost& cost, double entry_size, double memory, int threads,
                   Index most_factored);

/// body(part) for the rows, `most` at a time.
template <class Body>
void for_parts(Rows rows, Index most, Body&& body) {
  for (Index begin = rows.begin; begin < rows.end; begin += most)
    body(Rows{begin, std::min(begin + most, rows.end)});
}

/// Entries are costs without alpha and beta, in a unit of their own: a power of two that keeps
/// floats in their range, 1 in double.
template <class T>
class CpuEntries {
 public:
  /// Takes the costs, which must live until the next call, less their factors where this has its
  /// own. Stores all entries, or what is needed to
  /// make them. Memory is kept from one call to the next.
  void use(const GroundCost& cost, const WorkPlan& plan);

  /// Frees the factors that it made.
  void drop_factors();

  double unit() const { return unit_; }
  bool has_factors() const { return u_.size() > 0 || v_.size() > 0; }

  // The costs themselves, as GroundCost has them, from the factors that are there.
  double between(const Vector& a, const Vector& b) const;
  Vector column(Index j) const;

  /// The entries of a row, when they are stored.
  const T* row(Index i) const;

  /// Makes the entries of some rows, of all columns or of some. Any number of threads may do so at
  /// a time.
  void make(Rows rows, RowMatrix<T>& block) const { make(rows, {0, cost_->columns()}, block); }
  void make(Rows rows, Rows columns, RowMatrix<T>& block) const;

 private:
  void store(const WorkPlan& plan);
  void keep_factors();

  const GroundCost* cost_ = nullptr;
  double unit_ = 1;
  RowMatrix<T> entries_;  // empty when the caller's matrix serves, or nothing is stored
  RowMatrix<T> u_, v_;    // factors of the entries in float; double uses those of the costs
};

}  // namespace remblai
