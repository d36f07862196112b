// What happens to the coordinates before anything else: nothing, unit length, or standard scores.
#pragma once

#include "remblai/api.h"
#include "remblai/domain.h"
#include "remblai/options.h"
#include "remblai/types.h"

namespace remblai {

/// Fitted on both domains together, so that one transformation serves every point.
struct REMBLAI_API Scaler {
  Preprocess kind = Preprocess::none;
  Vector mean;   ///< zscore: of each column
  Vector scale;  ///< zscore: deviation of each column, 1 where it is constant

  /// l2: rows divided by their length (a zero row stays zero). zscore: columns standardised; throws
  /// Error when the number of columns differs.
  Matrix apply(const MatrixView& points) const;

  /// Back to the caller's coordinates. zscore is undone; l2 cannot be and leaves the points as they
  /// are.
  Matrix undo(const Matrix& points) const;

 private:
  void require_columns(const MatrixView& points) const;
};

/// Points of weight 0 do not count; the others count the same.
REMBLAI_API Scaler fit_scaler(Preprocess kind, const Domain& source, const Domain& target);

}  // namespace remblai
