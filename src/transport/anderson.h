// Anderson's mixing of a fixed-point iteration t = T(y): the next y is the combination of the last
// t whose residual t - y is shortest.
#pragma once

#include <deque>
#include <utility>

#include "remblai/types.h"

namespace remblai {

class Anderson {
 public:
  /// Looks back `memory` iterations.
  explicit Anderson(std::size_t memory) : memory_(memory) {}

  bool empty() const { return values_.empty(); }
  void clear();

  /// What it looks back at, and the same in place of it.
  const std::deque<Vector>& values() const { return values_; }
  const std::deque<Vector>& residuals() const { return residuals_; }
  void restore(std::deque<Vector> values, std::deque<Vector> residuals) {
    values_ = std::move(values);
    residuals_ = std::move(residuals);
  }

  /// The y to go on with after T(y) = t.
  Vector next(const Vector& y, const Vector& t);

 private:
  std::size_t memory_;
  std::deque<Vector> values_, residuals_;
};

}  // namespace remblai
