// Problems for the transport step: random ones, and a small one with its plans by other programs.
#pragma once

#include <string>

#include "remblai/io.h"
#include "support.h"

namespace remblai::test {

inline Matrix transport_fixture(const std::string& name) {
  return io::read_points(REMBLAI_TEST_DATA "/transport_" + name + ".npy");
}

inline Vector uniform_weights(Index n) {
  return Vector::Constant(n, 1.0 / static_cast<double>(n));
}

inline Matrix random_cost(Index m, Index n, unsigned seed) {
  return random_matrix(m, n, seed).cwiseAbs2();
}

}  // namespace remblai::test
