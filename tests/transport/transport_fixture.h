// A small problem and its plans by other programs, from files.
#pragma once

#include <string>

#include "remblai/io.h"

namespace remblai::test {

inline Matrix transport_fixture(const std::string& name) {
  return io::read_points(REMBLAI_TEST_DATA "/transport_" + name + ".npy");
}

}  // namespace remblai::test
