// The scaler of a problem whose source points may be divided among processes.
#pragma once

#include "base/shard.h"
#include "remblai/preprocess.h"

namespace remblai {

/// Whether the scaler of this kind depends on the points.
bool looks_at_columns(Preprocess kind);

/// What the scaler makes of rows the first of which has this number among those of all ranks: a
/// fault names the row by it.
Matrix apply_from(const Scaler& scaler, const MatrixView& points, Role role, Index first);

/// The same as the public function, which has all points. Weights are probabilities over all of
/// them; `shard` is of the source points.
Scaler fit_scaler(Preprocess kind, const Domain& source, const Domain& target, const Shard& shard);

}  // namespace remblai
