// Small samples of MNIST inside the library, so that the demonstration and the tests need no
// files.
#pragma once

#include "remblai/api.h"
#include "remblai/domain.h"

namespace remblai {

/// Three parts of 500 points each, with 784 pixels between 0 and 1. The source has 50 of each
/// digit. Half of the target and half of the test part are one digit, so that the labels have
/// shifted.
struct Sample {
  Domain source;
  Domain target;  ///< labels are there to score with, never to fit with
  Domain test;    ///< held-out points of the target distribution
};

/// The sample, unpacked.
REMBLAI_API Sample mnist_sample();

/// Another: the same source, and a target and a test part with 50 of each digit, which are turned
/// by 25 degrees, thicker and paler. The place of the classes has shifted, not their shares.
REMBLAI_API Sample turned_mnist_sample();

}  // namespace remblai
