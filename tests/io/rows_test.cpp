// Some rows of a file are those of the whole file, in every format.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "remblai/error.h"
#include "remblai/io.h"

namespace remblai::io {
namespace {

TEST(Rows, SlowAreThoseOfTheWholeFile) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(REMBLAI_TEST_DATA)) {
    const std::string path = entry.path().string();
    std::vector<Array> arrays;
    try {
      arrays = list(path);
    } catch (const Error&) {
      continue;
    }
    for (const Array& array : arrays) {
      const std::string spec = array.name.empty() ? path : path + ":" + array.name;
      for (const bool transpose : {false, true}) {
        Matrix whole;
        try {
          whole = read_points(spec, transpose);
        } catch (const Error&) {  // what cannot be read whole is another test's
          continue;
        }
        const Index rows = whole.rows();
        ASSERT_EQ(count_points(spec, transpose), rows) << spec;
        const RowRange ranges[] = {{0, rows},     {0, 0}, {rows, 0}, {rows / 3, rows / 2},
                                   {rows - 1, 1}, {0, 1}};
        for (const RowRange& range : ranges) {
          const Matrix some = read_points(spec, transpose, {}, range);
          ASSERT_EQ(some.rows(), range.count) << spec;
          ASSERT_EQ(some.cols(), whole.cols()) << spec;
          EXPECT_EQ(some, Matrix(whole.middleRows(range.first, range.count)))
              << spec << " from " << range.first << ", " << range.count;
        }
        ++files;
      }
    }
  }
  EXPECT_GT(files, 50);
}

// The parts of a text, as several processes read it.
TEST(Rows, PartsOfATextAreTheWhole) {
  const std::string path = testing::TempDir() + "remblai_parts.csv";
  const std::string bodies[] = {
      "1,2\n3,4\n5,6\n",
      "a,b\n1,2\n\n  \n# not, me\n3,4\n   # nor me\n5,6",
      "\xef\xbb\xbf\n#x\n a,b \r\n1,2\r\n\r\n3,4\r\n",
      "1;2\r3;4\r\r5;6\r",
      "7,8",
      "\n\n\n\n\n\n\n1\t2\n\n\n\n3\t4\n\n\n",
  };
  for (const std::string& body : bodies) {
    std::ofstream(path, std::ios::binary) << body;
    const Matrix whole = read_points(path);
    for (const int count : {1, 2, 3, 5, 40}) {
      Index points = 0, lines = 0;
      for (int k = 0; k < count; ++k) {
        const std::optional<TextPart> part = look_at_part(path, false, k, count);
        ASSERT_TRUE(part);
        EXPECT_FALSE(part->quotes);
        const Matrix some =
            read_points(path, false, {}, {points, part->points, part->byte, points, lines});
        EXPECT_EQ(some, Matrix(whole.middleRows(points, part->points))) << body;
        points += part->points;
        lines += part->lines;
      }
      EXPECT_EQ(points, whole.rows()) << body << " in " << count;
    }
  }
  std::ofstream(path) << "1,\"2\"\n";
  EXPECT_TRUE(look_at_part(path, false, 0, 1)->quotes);
  EXPECT_FALSE(look_at_part(path, true, 0, 1));
  std::filesystem::remove(path);
}

// Lines and fields that stand across what is read of a file at a time.
TEST(Rows, LongTextsAreReadInPieces) {
  const std::string path = testing::TempDir() + "remblai_long.csv";
  Matrix points(3, 400000);
  for (Index i = 0; i < points.size(); ++i) points(i) = static_cast<double>(i % 7919) / 8;
  {
    std::ofstream file(path, std::ios::binary);
    for (Index i = 0; i < points.rows(); ++i) {
      file << "# " << std::string(1 << 21, 'x') << "\r\n";
      for (Index j = 0; j < points.cols(); ++j)
        file << (j > 0 ? "," : "") << (j % 3 == 0 ? "\"" : "") << points(i, j)
             << (j % 3 == 0 ? "\"" : "");
      file << "\r\n";
    }
  }
  EXPECT_EQ(read_points(path), points);
  EXPECT_EQ(read_points(path, false, {}, {1, 1}), Matrix(points.middleRows(1, 1)));
  std::ofstream(path, std::ios::binary) << "1,2\n3," << std::string(3 << 20, '4') << "x\n";
  try {
    read_points(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace remblai::io
