// Anderson's mixing of a fixed-point iteration t = T(y): the next y is the combination of the last
// t whose residual t - y is shortest.
#pragma once

#include <deque>

#include "remblai/types.h"

namespace remblai {

class Anderson {
 public:
  /// Looks back `memory` iterations.
  explicit Anderson(std::size_t memory) : memory_(memory) {}

  bool empty() const { return values_.empty(); }
  void clear();

  /// The y to go on with after T(y) = t.
  Vector next(const Vector& y, const Vector& t);

 private:
  std::size_t memory_;
  std::deque<Vector> values_, residuals_;
};

}  // namespace remblai
