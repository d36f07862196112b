// Rows of which the first are the same on every rank, and the others are divided among the ranks.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "base/shard.h"

namespace remblai {

/// Of a matrix with one row for each of them: the common rows, then those of this rank. In one
/// process all rows are alike, and none is called common. Like those of Shard, sums have the same
/// bits for any number of ranks.
struct CommonRows {
  Shard shard;
  Index common = 0;

  /// Rows of which so many are common where there are ranks.
  static CommonRows of(const Shard& shard, Index common) {
    return {shard, shard.divided() ? common : 0};
  }

  bool divided() const { return shard.divided(); }

  /// How many rows there are on all ranks, of which `rows` are here.
  Index total(Index rows) const { return common + shard.total(rows - common); }

  /// The last `count` of `rows`, which are all that are divided and perhaps some common ones.
  CommonRows last(Index count, Index rows) const {
    return {shard, std::max<Index>(0, count - (rows - common))};
  }

  /// The sum over the rows of all ranks of what `part` makes of some of them. Where there are
  /// ranks, several threads call it, and `between` is called as by Shard::sum.
  Matrix sum(Index rows, Index height, Index width, const std::function<Matrix(Rows)>& part,
             const std::function<void()>& between = {}) const;
  double sum(const Vector& values) const;
  double dot(const Vector& a, const Vector& b) const;

  /// Calls visit for some rows at a time, at most so many, until all that are here were visited.
  /// The cuts are the same for any number of ranks.
  void visit(Index rows, Index most, const std::function<void(Rows)>& visit) const;

  /// Some rows of all, on every rank. The common ones have the first numbers.
  Matrix rows_of(const Matrix& rows, const std::vector<Index>& numbers) const;

  /// All rows, on every rank.
  Matrix united(const Matrix& rows) const;

  /// What is here of all rows that `united` gave.
  Matrix own(const Matrix& all) const;
};

/// Of rows that every rank has, each keeps its share (`share_of`).
void keep_share(const Comm& comm, Matrix& rows);

/// Calls body(number of the first, some rows) on every rank, in order, until it had all rows of all
/// ranks, of which `shares` has divided them: a few MB cross at a time. Which rows come together
/// does not depend on the number of ranks. In one process the rows come at once.
void visit_shares(const Shard& shares, const Matrix& own,
                  const std::function<void(Index first, const Matrix& rows)>& body);

/// All rows of all ranks, on every rank.
Matrix united(const Shard& shares, const Matrix& own);

}  // namespace remblai
