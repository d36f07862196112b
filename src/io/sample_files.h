// The files of data/mnist-shift as bytes of the library.
// cmake/embed.cmake writes sample_files.cpp into the build folder.
#pragma once

#include <array>
#include <string_view>

namespace remblai {

/// IDX files packed by gzip: images then labels of the source, the target and the test part.
const std::array<std::string_view, 6>& sample_files();

}  // namespace remblai
