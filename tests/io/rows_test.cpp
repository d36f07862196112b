// Some rows of a file are those of the whole file, in every format.
#include <gtest/gtest.h>

#include <filesystem>

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

}  // namespace
}  // namespace remblai::io
