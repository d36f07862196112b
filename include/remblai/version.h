// The version, as CMakeLists.txt states it.
#pragma once

#include <string>

namespace remblai {

/// "MAJOR.MINOR.PATCH".
const char* version();

/// What else results may depend on in their last digits: compiler, BLAS and the kernels it chose.
std::string build();

}  // namespace remblai
