// How much the squared distances between source and target points change from step to step.
#pragma once

#include <utility>

#include "base/shard.h"
#include "remblai/types.h"

namespace remblai {

/// Looks at all pairs of small sets and at 256 x 256 of large ones. The plan sees the metric
/// through these distances alone: the alternation has settled when they have.
class DistanceWatch {
 public:
  /// Looks at the embedded points of a step that may yet be taken back.
  /// `shard` is of the rows of x, and `targets` of those of z.
  void look(const Matrix& x, const Matrix& z, const Shard& shard = {}, const Shard& targets = {});

  /// Root mean square of the relative changes since the last accepted step; infinity before the
  /// first one was accepted. Pairs in one place have no distance to change.
  double change() const { return change_; }

  /// What it looked at last is the new reference.
  void accept();

  /// The reference, and another one in its place. One of other points, which has another shape,
  /// is none.
  const Matrix& accepted() const { return before_; }
  void restore(Matrix accepted) { before_ = std::move(accepted); }

 private:
  Matrix before_, now_;
  double change_ = 0;
};

}  // namespace remblai
