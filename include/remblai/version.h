// The version, as CMakeLists.txt states it.
#pragma once

namespace remblai {

/// "MAJOR.MINOR.PATCH".
const char* version();

}  // namespace remblai
