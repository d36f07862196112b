// The version, as CMakeLists.txt states it.
#pragma once

#include <string>

#include "remblai/api.h"

namespace remblai {

/// "MAJOR.MINOR.PATCH".
REMBLAI_API const char* version();

/// What else results may depend on in their last digits: compiler, BLAS and the kernels it chose.
REMBLAI_API std::string build();

}  // namespace remblai
