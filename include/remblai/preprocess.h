// Preprocessing of the coordinates before anything else.
#pragma once

#include "remblai/api.h"
#include "remblai/domain.h"
#include "remblai/options.h"
#include "remblai/types.h"

namespace remblai {

/// Which of the two domains points belong to.
enum class Role { source, target };

/// A transformation of points. `centre` and `standardise` treat each domain by itself; the others
/// are one transformation for both.
struct REMBLAI_API Scaler {
  Preprocess kind = Preprocess::none;
  Vector mean, scale;                ///< of each column; scale 1 where it is constant. Or empty
  Vector target_mean, target_scale;  ///< those of the target; empty: the same

  /// The points after preprocessing. l2 divides rows by their length, and hellinger by their sum
  /// before it takes square roots; a zero row stays zero. The others subtract means and divide by
  /// scales, and throw Error when the number of columns differs. hellinger throws Error on negative
  /// values.
  Matrix apply(const MatrixView& points, Role role = Role::target) const;

  /// The points back in the caller's coordinates. What rows were divided by is lost: l2 leaves the
  /// points as they are, and hellinger gives the shares.
  Matrix undo(const Matrix& points, Role role = Role::target) const;

 private:
  void require_columns(const MatrixView& points) const;
  const Vector& mean_of(Role role) const;
  const Vector& scale_of(Role role) const;
};

/// The scaler for two domains. Points of weight 0 do not count, and all others count the same.
REMBLAI_API Scaler fit_scaler(Preprocess kind, const Domain& source, const Domain& target);

}  // namespace remblai
