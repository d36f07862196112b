// IDX, plain and packed by gzip: every number type, headers that lie, truncation, damage.
#include <zlib.h>

#include <limits>

#include "io/io_test_tools.h"

namespace remblai::io::test {
namespace {

using IoIdxTest = IoTest;

void write_gz(const std::string& path, const std::string& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb1");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), int(bytes.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
}

TEST_F(IoIdxTest, ImagesAreRowsAndLabelsAList) {
  for (const std::string name : {"io_cube-idx3-ubyte", "io_cube-idx3-ubyte.gz"}) {
    EXPECT_EQ(read_points(data(name)), cube()) << name;
    EXPECT_EQ(list(data(name))[0].shape, (std::vector<Index>{2, 3, 4})) << name;
    EXPECT_EQ(list(data(name))[0].type, "uint8") << name;
  }
  for (const std::string name : {"io_labels.idx1-ubyte", "io_labels-idx1-ubyte.gz"}) {
    EXPECT_EQ(read_labels(data(name)), labels()) << name;
  }
  EXPECT_ERROR(read_labels(data("io_cube-idx3-ubyte")), "one row or one column, this is 2 x 12");
}

TEST_F(IoIdxTest, EveryNumberType) {
  for (const std::string code : {"i1", "i2", "i4", "f4", "f8"}) {
    EXPECT_EQ(read_points(data("io_points_" + code + ".idx")), points()) << code;
  }
}

TEST_F(IoIdxTest, PackingIsKnownByContent) {
  std::filesystem::copy_file(data("io_cube-idx3-ubyte.gz"), path("a.idx"));
  std::filesystem::copy_file(data("io_cube-idx3-ubyte"), path("b.idx.gz"));
  EXPECT_EQ(read_points(path("a.idx")), cube());
  EXPECT_EQ(read_points(path("b.idx.gz")), cube());
}

TEST_F(IoIdxTest, HeadersThatPromiseTooMuch) {
  const std::string huge("\0\0\x08\x03\x7f\xff\xff\xff\x7f\xff\xff\xff\0\0\0\x02", 16);
  EXPECT_ERROR(read_points(file("a.idx", huge)), "impossible");
  const std::string large("\0\0\x08\x02\0\x01\0\0\0\x01\0\0abc", 15);
  EXPECT_ERROR(read_points(file("a.idx", large)), "promises 4294967296 bytes");
  write_gz(path("a.idx.gz"), large);
  EXPECT_ERROR(read_points(path("a.idx.gz")), "promises 4294967296 bytes");
  const std::string some("\0\0\x08\x01\0\0\x01\0abc", 11);
  write_gz(path("a.idx.gz"), some);
  EXPECT_ERROR(read_points(path("a.idx.gz")), "promises 256 bytes of numbers, the file holds 3");
  write_gz(path("a.idx.gz"), std::string("\0\0\x08\x01\0\0\0\x02"
                                         "abc",
                                         11));
  EXPECT_ERROR(read_points(path("a.idx.gz")), "promises 2 bytes of numbers, the file holds at");
  EXPECT_ERROR(read_points(file("a.idx", std::string("\0\0\x0a\x01\0\0\0\x01g", 9))), "0x0a");
  EXPECT_ERROR(read_points(file("a.idx", "PNG or so")), "does not begin like an IDX file");
}

TEST_F(IoIdxTest, PrefixesAndDamage) {
  const auto whole = std::numeric_limits<std::size_t>::max();
  expect_prefixes_safe(data("io_cube-idx3-ubyte"), "", ".idx", cube(), whole);
  expect_prefixes_safe(data("io_cube-idx3-ubyte.gz"), "", ".idx.gz", cube(), whole);
  EXPECT_GT(fuzz(data("io_cube-idx3-ubyte"), ".idx", 1500), 100);
  EXPECT_GT(fuzz(data("io_cube-idx3-ubyte.gz"), ".idx.gz", 1500), 100);
}

}  // namespace
}  // namespace remblai::io::test
