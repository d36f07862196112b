// The program of one target for libFuzzer; CMake says which by REMBLAI_FUZZ_TARGET.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  remblai::fuzz::REMBLAI_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
