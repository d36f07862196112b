// PNG as its standard has it: header, one compressed block of rows without filters, end.
#include "report/png.h"

#include <zlib.h>

#include <cassert>
#include <string_view>

namespace remblai {
namespace {

void append_number(std::string& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
}

void append_chunk(std::string& file, std::string_view type, std::string_view content) {
  append_number(file, static_cast<std::uint32_t>(content.size()));
  const std::size_t start = file.size();
  file += type;
  file += content;
  const auto* first = reinterpret_cast<const Bytef*>(file.data() + start);
  append_number(
      file, static_cast<std::uint32_t>(crc32(0, first, static_cast<uInt>(file.size() - start))));
}

std::string packed(std::string_view bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  [[maybe_unused]] const int code =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 9);
  assert(code == Z_OK);
  out.resize(size);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = i; k < i + 3; ++k)
      group = group << 8 | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string png(const Picture& picture) {
  assert(picture.channels == 1 || picture.channels == 4);
  const auto stride = static_cast<std::size_t>(picture.width) * picture.channels;
  assert(picture.pixels.size() == stride * picture.height);
  std::string rows;
  rows.reserve((stride + 1) * picture.height);
  for (int y = 0; y < picture.height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(picture.pixels.data()) + y * stride, stride);
  }
  std::string header;
  append_number(header, static_cast<std::uint32_t>(picture.width));
  append_number(header, static_cast<std::uint32_t>(picture.height));
  header += '\x08';                                   // bits
  header += picture.channels == 1 ? '\x00' : '\x06';  // grey, or colours with opacity
  header += std::string(3, '\0');
  std::string file = "\x89PNG\r\n\x1a\n";
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", packed(rows));
  append_chunk(file, "IEND", "");
  return file;
}

std::string data_uri(const Picture& picture) {
  return "data:image/png;base64," + base64(png(picture));
}

}  // namespace remblai
