// Squared Euclidean distances between all pairs of rows, by one matrix product.
#pragma once

#include "remblai/types.h"

namespace remblai {

/// out_ij = |a_i - b_j|^2, never negative; absolute error about 1e-15 (|a_i|^2 + |b_j|^2).
void squared_distances(const Matrix& a, const Matrix& b, Matrix& out);

}  // namespace remblai
