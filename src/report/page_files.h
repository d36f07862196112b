// The files of src/report/assets and Chart.js as bytes of the library.
// cmake/embed.cmake writes page_files.cpp into the build folder.
#pragma once

#include <array>
#include <string_view>

namespace remblai {

/// page.html, page.css, charts.js, pictures.js, page.js, Chart.js.
const std::array<std::string_view, 6>& page_files();

}  // namespace remblai
