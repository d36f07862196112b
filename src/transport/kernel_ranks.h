// A kernel that knows one process, among several.
#pragma once

#include "transport/kernel.h"

namespace remblai {

/// Adds up over the ranks what `local` sums over its own rows, for kernels that do not do so by
/// themselves. Each rank is one summand, so results of different numbers of ranks agree to the
/// rounding of the kernel. Nothing can be factorised.
std::unique_ptr<Kernel> among_ranks(std::unique_ptr<Kernel> local);

}  // namespace remblai
