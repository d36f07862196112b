// The version of the library.
// CMakeLists.txt holds it and passes it to this file only, so that a new one recompiles one file.
#include "remblai/version.h"

#include "base/linalg.h"

namespace remblai {

const char* version() {
  return REMBLAI_VERSION;
}

std::string build() {
  return "compiler " __VERSION__ ", " + linalg::library();
}

}  // namespace remblai
