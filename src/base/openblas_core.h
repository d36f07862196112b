// Which of its kernels OpenBLAS uses.
#pragma once

namespace remblai {

/// Chooses kernels by instruction set where OpenBLAS does not know the processor; says whether it
/// did. No other thread may be inside BLAS: linalg.cpp calls it once, when the library is loaded.
bool choose_openblas_kernels();

}  // namespace remblai
