// Multinomial logistic regression.
#pragma once

#include <vector>

#include "remblai/types.h"

namespace remblai {

/// Scores are x'W + b.
struct LogisticModel {
  Matrix weights;             ///< r x K
  Eigen::RowVectorXd biases;  ///< K
};

/// Minimises |W|^2/2 - m sum_i w_i ln softmax(x_i'W + b)_{place_i}, the biases being free. Weights
/// sum to 1. Truncated Newton steps, to a gradient of 1e-5 of the first: O(m r K) for each step of
/// its conjugate gradients.
LogisticModel fit_logistic(const Matrix& points, const std::vector<Index>& places,
                           const Vector& weights, Index classes);

}  // namespace remblai
