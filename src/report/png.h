// Small pictures inside a page: PNG files as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace remblai {

/// Pixels in rows, from the top, each of `channels` bytes: 1 is grey, 4 red, green, blue, opacity.
struct Picture {
  int width = 0;
  int height = 0;
  int channels = 1;
  std::vector<std::uint8_t> pixels;
};

/// The bytes of a PNG file.
std::string png(const Picture& picture);

/// "data:image/png;base64,...".
std::string data_uri(const Picture& picture);

}  // namespace remblai
