// Preprocessing of the coordinates before anything else: none, unit length, or standard scores.
#pragma once

#include "remblai/api.h"
#include "remblai/domain.h"
#include "remblai/options.h"
#include "remblai/types.h"

namespace remblai {

/// A transformation of points. It is fitted on both domains together, so that one serves them all.
struct REMBLAI_API Scaler {
  Preprocess kind = Preprocess::none;
  Vector mean;   ///< zscore: of each column
  Vector scale;  ///< zscore: deviation of each column, 1 where it is constant

  /// The points after preprocessing. l2 divides rows by their length, and a zero row stays zero.
  /// zscore standardises columns, and throws Error when their number differs.
  Matrix apply(const MatrixView& points) const;

  /// The points back in the caller's coordinates. zscore is undone. l2 cannot be undone, and leaves
  /// the points as they are.
  Matrix undo(const Matrix& points) const;

 private:
  void require_columns(const MatrixView& points) const;
};

/// The scaler for two domains. Points of weight 0 do not count, and all others count the same.
REMBLAI_API Scaler fit_scaler(Preprocess kind, const Domain& source, const Domain& target);

}  // namespace remblai
