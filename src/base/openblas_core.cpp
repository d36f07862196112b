// OpenBLAS 0.3.21 knows processors by model number and takes those it does not know, such as
// Sapphire and Emerald Rapids, for a Pentium 4: matrix products run at a fifth of their speed. Here
// the kernels are chosen by instruction set instead. A choice by OPENBLAS_CORETYPE stands.
#include "base/openblas_core.h"

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)

extern "C" {
// Exported by builds of OpenBLAS that hold kernels for several processors; absent (null) in others.
__attribute__((weak)) char* openblas_get_corename();
__attribute__((weak)) void gotoblas_dynamic_init();
__attribute__((weak)) void gotoblas_dynamic_quit();
}

namespace remblai {
namespace {

const char* better_core() {
  if (!openblas_get_corename || !gotoblas_dynamic_init || !gotoblas_dynamic_quit) return nullptr;
  if (std::getenv("OPENBLAS_CORETYPE") || std::string_view(openblas_get_corename()) != "Prescott")
    return nullptr;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    return "SKYLAKEX";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "HASWELL" : nullptr;
}

}  // namespace

bool choose_openblas_kernels() {
  const char* core = better_core();
  if (!core) return false;
  setenv("OPENBLAS_CORETYPE", core, 0);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
  return true;
}

}  // namespace remblai

#else

bool remblai::choose_openblas_kernels() {
  return false;
}

#endif
