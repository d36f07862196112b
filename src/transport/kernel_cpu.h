// The kernel on the processor.
#pragma once

#include "transport/kernel.h"

namespace remblai {

/// Entries in double or float, stored or made row by row in every pass, as the resources allow.
std::unique_ptr<Kernel> make_cpu_kernel(const Resources& resources);

}  // namespace remblai
