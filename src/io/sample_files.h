// The files of data/mnist-shift and data/mnist-turned as bytes of the library.
// cmake/embed.cmake writes sample_files.cpp into the build folder.
#pragma once

#include <array>
#include <string_view>

namespace remblai {

/// IDX files packed by gzip: images then labels of the source, the target and the test part, then
/// of the target and the test part of the turned digits.
const std::array<std::string_view, 10>& sample_files();

}  // namespace remblai
