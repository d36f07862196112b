// Squared distances and Gaussian kernels between embedded points.
#pragma once

#include "remblai/types.h"

namespace remblai {

/// |a_i - a_j|^2 for all rows, symmetric to the last bit, 0 on the diagonal. The points are
/// measured from their mean, so where they lie costs no digits.
Matrix squared_distances(const Matrix& a);

/// |a_i - b_j|^2, never negative.
Matrix squared_distances(const Matrix& a, const Matrix& b);

/// exp(-distances/width), entry by entry, in place.
void gaussian(Matrix& squared, double width);

/// The same of the upper triangle, which is all that is right of the result.
Matrix upper_gaussian(const MatrixView& squared, double width);

}  // namespace remblai
