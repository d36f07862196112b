// Probabilities from scores.
#pragma once

#include <cmath>
#include <span>

#include "remblai/types.h"

namespace remblai {

/// Every row of scores becomes exp(score) divided by its sum. Nothing overflows.
inline void softmax_rows(Matrix& scores) {
  for (Index i = 0; i < scores.rows(); ++i) {
    auto row = scores.row(i);
    row = (row.array() - row.maxCoeff()).exp();
    row /= row.sum();
  }
}

/// The same; returns the log-loss, sum_i weights_i (-ln of the probability at place i), which is
/// right where that probability is 0 to working precision.
inline double softmax_log_loss(Matrix& scores, std::span<const Index> places,
                               const Vector& weights) {
  double loss = 0;
  for (Index i = 0; i < scores.rows(); ++i) {
    const auto row = scores.row(i);
    const double top = row.maxCoeff();
    const double sum = (row.array() - top).exp().sum();
    loss += weights[i] * (std::log(sum) + top - row[places[static_cast<std::size_t>(i)]]);
  }
  softmax_rows(scores);
  return loss;
}

}  // namespace remblai
