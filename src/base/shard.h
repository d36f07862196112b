// Which rows of the source this process has, and sums over the rows of all processes. Everything
// that adds up over source rows does it here, so nothing else knows how many processes there are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "remblai/comm.h"

namespace remblai {

/// Rows are divided into pieces that depend on their number alone, and sums over the pieces follow
/// a binary tree over them. A rank has whole pieces and sends the sums of the largest subtrees that
/// it has, so the total has the same bits for any number of ranks. Where the shares of the ranks
/// are not made of whole pieces, each rank is one leaf of the tree, and totals agree to rounding.
///
/// A shard without a Comm has all rows as one piece: sums are what a plain loop gives. All members
/// but the plain getters are called by all ranks together. Vectors have an entry for each local
/// row.
class Shard {
 public:
  Shard() = default;  ///< of one process, for any number of rows

  /// Of one process where `comm` is null. Products over pieces are made by so many threads.
  Shard(std::shared_ptr<const Comm> comm, Index rows, int threads = 1);

  /// The rows left when some are dropped, for the same ranks.
  Shard with_rows(Index rows) const { return {comm_, rows, threads_}; }

  bool divided() const { return comm_ != nullptr; }
  const Comm* comm() const { return comm_.get(); }
  Index first() const { return first_; }  ///< number of the first local row among all
  Index total(Index rows) const { return comm_ ? total_ : rows; }
  int ranks_here() const { return comm_ ? comm_->ranks_here() : 1; }
  const std::vector<Index>& rows_of_ranks() const { return rows_; }  ///< of a divided shard

  /// The pieces of the local rows; of a divided shard only.
  Index pieces() const { return static_cast<Index>(pieces_.size()); }
  Rows piece(Index k) const { return pieces_[static_cast<std::size_t>(k)]; }

  /// The sum over all pieces of what `part` makes of the rows of each, vectors of one size. `rows`
  /// is the number of local ones.
  Vector sum(Index rows, Index size, const std::function<Vector(Rows)>& part) const;

  /// The same for parts that are there: one for each local piece.
  Vector sum_parts(Index size, const std::function<Vector(Index piece)>& part) const;

  /// The sum of one vector of each rank, in the order of the ranks. Not the same bits for another
  /// number of them.
  Vector sum_of_ranks(const Vector& local) const;

  /// So many parts of `size` numbers are made at a time, each by a thread of its own: as many as
  /// there are threads, fewer where that would take more than 2 GiB.
  Index parts_at_once(Index size) const;

  /// The sum over pieces for matrices. Of a divided shard `between` is called once for each piece,
  /// by one thread, and on all ranks as often: there they may ask each other something.
  Matrix sum(Index rows, Index height, Index width, const std::function<Matrix(Rows)>& part,
             const std::function<void()>& between = {}) const;

  /// Calls `ask` until a rank that goes on to call it `own` times has done so as often as every
  /// other.
  void even_out(Index own, const std::function<void()>& ask) const;

  /// The rows of the local pieces, each by itself, as `make` gives them. Products of matrices round
  /// by how many rows they have: so they are the same for any number of ranks. The plain call
  /// without a Comm.
  Matrix by_pieces(const Matrix& local, Index width,
                   const std::function<Matrix(const Matrix&)>& make) const;

  /// The same in memory that is given, where it has the size. The plain call of `make` gets it.
  using MakeIn = std::function<Matrix(const Matrix& rows, Matrix room)>;
  Matrix by_pieces(const Matrix& local, Index width, const MakeIn& make, Matrix room) const;
  Matrix by_common_pieces(const Matrix& rows, Index width, const MakeIn& make, Matrix room) const;

  /// The same for rows that every rank has.
  Matrix by_common_pieces(const Matrix& rows, Index width,
                          const std::function<Matrix(const Matrix&)>& make) const;

  double sum(const Vector& values) const;
  double dot(const Vector& a, const Vector& b) const;
  double norm1(const Vector& values) const;

  Vector maximum(const Vector& values) const { return comm_ ? comm_->maximum(values) : values; }
  double maximum(double value) const;
  double largest(
      const Eigen::Ref<const Vector>& values) const;  ///< -infinity where there is no row at all
  double smallest(const Eigen::Ref<const Vector>& values) const;  ///< infinity
  bool any(bool here) const { return maximum(here ? 1 : 0) > 0; }
  bool all(bool here) const { return !any(!here); }

  /// A few rows with the same Gram matrix as all rows of all ranks have, on every rank: no more
  /// than there are columns. Rows are compressed by QR along the tree (tall and skinny QR).
  Matrix compressed_rows(const Matrix& local) const;

  /// Some rows of all, by their numbers among all, on every rank.
  Matrix rows_of(const Matrix& local, const std::vector<Index>& numbers) const;

  /// The values of all rows on every rank: a number a row at most, never points.
  Vector everywhere(const Vector& local) const;

  /// Calls `work`. Where it throws Error on some rank, all ranks throw that of the first of them.
  void agree(const std::function<void()>& work) const;

 private:
  struct Node {
    Index begin, end;  // leaves
  };

  bool take_whole_pieces();
  void take_one_leaf_each();
  void find_nodes();
  Vector reduce(Index size, const Vector& nodes) const;

  std::shared_ptr<const Comm> comm_;
  int threads_ = 1;
  Index first_ = 0, total_ = 0;
  std::vector<Index> rows_;               // of every rank
  std::vector<Rows> pieces_;              // local rows of the local pieces
  bool whole_ = false;                    // leaves are pieces; else each rank is a leaf
  std::vector<Index> leaves_;             // first leaf of every rank, and the number of all
  std::vector<std::vector<Node>> nodes_;  // the subtrees that every rank sums up
  std::map<std::pair<Index, Index>, Index> places_;  // of these among those of all ranks
};

}  // namespace remblai
