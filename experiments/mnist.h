// The paper's first experiment: digits under label shift.
#pragma once

#include <string>
#include <vector>

#include "split.h"

namespace remblai::experiments {

/// The four IDX files, plain or gzipped, under their usual names. Pixels in 0..1.
struct Mnist {
  Domain source;  ///< the 10,000 digits
  Domain target;  ///< the 60,000 digits
  std::vector<std::string> files = {};
};

/// Throws Error naming the first file that is missing.
Mnist read_mnist(const std::string& folder);

/// Source: 50 of each digit. Target train and test: 500 each, disjoint; `digit` is `skew` percent
/// of them, the other nine share the rest as evenly as whole numbers allow, the smaller digits
/// first.
Split draw_mnist(const Mnist& data, int skew, int digit, int seed);

/// The same, but `absent` of the digits have no target point and the others share it evenly. Which,
/// is drawn for each number of a draw.
Split draw_mnist_without(const Mnist& data, int absent, int number, int seed);

}  // namespace remblai::experiments
