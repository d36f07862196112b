// How much memory there is.
#pragma once

namespace remblai {

/// Bytes that can be taken without swapping; infinity where the system does not tell.
double available_memory();

}  // namespace remblai
