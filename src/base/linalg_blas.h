// How BLAS and LAPACK are told sizes and transposes.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/linalg.h"

namespace remblai::linalg {

inline int size(Index n) {
  assert(n >= 0 && n <= std::numeric_limits<int>::max());
  return static_cast<int>(n);
}

/// Leading dimensions may not be 0, even of an empty matrix.
inline int stride(Index n) {
  return std::max(1, size(n));
}

inline CBLAS_TRANSPOSE flag(Op op) {
  return op == Op::none ? CblasNoTrans : CblasTrans;
}

}  // namespace remblai::linalg
