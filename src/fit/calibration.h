// Calibration of scores: one temperature and a bias for each class, by the multinomial log-loss.
#pragma once

#include <vector>

#include "base/common_rows.h"
#include "remblai/types.h"

namespace remblai {

struct Calibration {
  double temperature = 1;
  Vector biases;
  double log_loss = 0;  ///< mean of -ln probability of the true class, without the penalty
};

enum class Biases { free, zero };

/// Minimises the weighted mean of -ln softmax(temperature scores_i + biases)_{place_i}, plus
/// 1e-3 |biases|^2, over positive temperatures. Biases that are held at zero leave the order of the
/// scores as it is. The problem is convex; Newton steps, O(m K^2) each.
/// Weights sum to 1. `rows` says which scores other ranks have too.
Calibration calibrate(const Matrix& scores, const std::vector<Index>& places, const Vector& weights,
                      Biases biases = Biases::free, const CommonRows& rows = {});

}  // namespace remblai
