// A small sample of MNIST inside the library: the demonstration and the tests need no files.
#pragma once

#include "remblai/api.h"
#include "remblai/domain.h"

namespace remblai {

/// 500 points in each part, 784 pixels in 0..1. The source has 50 of each digit; half of the target
/// and of the test part is one digit, so that the labels have shifted.
struct Sample {
  Domain source;
  Domain target;  ///< labels are there to score with, never to fit with
  Domain test;    ///< held-out points of the target distribution
};
REMBLAI_API Sample mnist_sample();

}  // namespace remblai
