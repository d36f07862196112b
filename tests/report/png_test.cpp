// PNG files: their frame, and the pixels that another program would read from them.
#include "report/png.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace remblai {
namespace {

TEST(Png, IsWhatTheStandardSays) {
  const std::string file = png({2, 1, 1, {0, 255}});
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(file.substr(12, 4), "IHDR");
  EXPECT_EQ(file.substr(16, 13), std::string("\0\0\0\2\0\0\0\1\x08\0\0\0\0", 13));
  // What every file ends in, with its checksum.
  EXPECT_EQ(file.substr(file.size() - 12), std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12));
  for (const int width : {1, 2, 3}) {
    const Picture picture{width, 1, 4, std::vector<std::uint8_t>(4u * width, 7)};
    EXPECT_EQ((data_uri(picture).size() - 22) % 4, 0u);
  }
}

TEST(Png, PixelsComeBack) {
  const Picture picture{3, 2, 1, {1, 2, 3, 250, 251, 252}};
  const std::string file = png(picture);
  const std::size_t place = file.find("IDAT");
  ASSERT_NE(place, std::string::npos);
  std::string rows(2 * (1 + 3), '?');  // each begins with its filter, 0 for none
  uLongf size = rows.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                       reinterpret_cast<const Bytef*>(file.data() + place + 4),
                       static_cast<uLong>(file.size() - place - 4 - 16)),
            Z_OK);
  EXPECT_EQ(rows, std::string("\0\1\2\3\0\xfa\xfb\xfc", 8));
}

}  // namespace
}  // namespace remblai
