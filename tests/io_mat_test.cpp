// MATLAB files: versions 5 (SciPy wrote them, plain and packed) and 7.3 (h5py, as MATLAB does).
#include <limits>

#include "io_test_tools.h"

namespace remblai::io::test {
namespace {

using IoMatTest = IoTest;

Matrix odd() {
  return points().unaryExpr([](double x) { return double(int(x) % 2); });
}

TEST_F(IoMatTest, TheOnlyMatrixAndTheOnlyList) {
  for (const std::string name : {"io_v5.mat", "io_v5_packed.mat", "io_v73.mat"}) {
    EXPECT_EQ(read_points(data(name)), points()) << name;
    EXPECT_EQ(read_labels(data(name)), labels()) << name;
    EXPECT_EQ(read_vector(data(name) + ":y"), labels().cast<double>()) << name;
    EXPECT_EQ(read_points(data(name) + ":X", true), points().transpose()) << name;
    const auto arrays = list(data(name));
    ASSERT_EQ(arrays.size(), 2u) << name;
    EXPECT_EQ(arrays[0].name, "X") << name;
    EXPECT_EQ(arrays[0].type, "double") << name;
    EXPECT_EQ(arrays[0].shape, (std::vector<Index>{4, 3})) << name;
  }
}

TEST_F(IoMatTest, EveryClassOfNumbers) {
  const std::string old = data("io_v5_many.mat") + ":", late = data("io_v73_many.mat") + ":";
  for (const std::string name : {"single", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "X"}) {
    EXPECT_EQ(read_points(old + name), points()) << name;
  }
  for (const std::string name : {"single", "i1", "u2", "i8", "u8", "packed"}) {
    EXPECT_EQ(read_points(late + name), points()) << name;
  }
  for (const std::string& file : {old, late}) {
    EXPECT_EQ(read_points(file + "logical"), odd()) << file;
    EXPECT_EQ(read_points(file + "cube"), cube()) << file;
  }
}

TEST_F(IoMatTest, BigEndianAndNumbersStoredSmallerThanTheirClass) {
  EXPECT_EQ(list(data("io_v5_big.mat"))[0].type, "double");
  EXPECT_EQ(read_points(data("io_v5_big.mat")), points());
}

TEST_F(IoMatTest, OtherClassesAreLeftOutOfTheListAndRefused) {
  for (const Array& array : list(data("io_v5_many.mat"))) {
    EXPECT_TRUE(array.name != "cell" && array.name != "text" && array.name != "sparse" &&
                array.name != "complex" && array.name != "struct")
        << array.name;
  }
  const std::string old = data("io_v5_many.mat") + ":", late = data("io_v73_many.mat") + ":";
  EXPECT_ERROR(read_points(old + "sparse"), "full(");
  EXPECT_ERROR(read_points(old + "complex"), "complex");
  EXPECT_ERROR(read_points(old + "cell"), "class cell");
  EXPECT_ERROR(read_points(old + "struct"), "class struct");
  EXPECT_ERROR(read_points(old + "text"), "class char");
  EXPECT_ERROR(read_points(late + "struct"), "class struct");
  EXPECT_ERROR(read_points(late + "text"), "class char");
  EXPECT_ERROR(read_points(old + "Y"), "there is no array 'Y'; it has 'X', 'y'");
  EXPECT_ERROR(read_points(data("io_v5_many.mat")), "name one, as in " + old + "X");
}

TEST_F(IoMatTest, WrongBeginnings) {
  EXPECT_ERROR(read_points(file("x.mat", "")), "empty");
  EXPECT_ERROR(read_points(file("x.mat", std::string(50, 'x'))), "does not begin like a .mat");
  EXPECT_ERROR(read_points(file("x.mat", std::string(5000, '\0'))), "does not begin like a .mat");
  std::string bytes = bytes_of(data("io_v5.mat"));
  bytes[125] = 2;
  EXPECT_ERROR(read_points(file("x.mat", bytes)), "must hold HDF5");
}

TEST_F(IoMatTest, ShapesThatDoNotFitTheFileAreRefused) {
  std::string bytes = bytes_of(data("io_v5.mat"));
  const std::size_t dims = 128 + 8 + 16 + 8;  // file header, element tag, flags, tag of the shape
  ASSERT_EQ(bytes[dims], 4);
  ASSERT_EQ(bytes[dims + 4], 3);
  bytes[dims] = 5;
  EXPECT_ERROR(read_points(file("x.mat", bytes)), "a shape of 5 x 3 needs 120 bytes");
  bytes[dims + 2] = bytes[dims + 6] = 0x7f;
  EXPECT_ERROR(read_points(file("x.mat", bytes)), "damaged");
  bytes[dims + 3] = static_cast<char>(0xff);
  EXPECT_ERROR(read_points(file("x.mat", bytes)), "impossible");
}

TEST_F(IoMatTest, PrefixesAndDamage) {
  // X comes first: the files are complete for it once its element is.
  expect_prefixes_safe(data("io_v5.mat"), "X", ".mat", points(), 128 + 8 + 16 + 16 + 8 + 8 + 96);
  expect_prefixes_safe(data("io_v5_packed.mat"), "X", ".mat", points(), 128 + 8 + 40);
  for (const std::string name : {"io_v5.mat", "io_v5_packed.mat", "io_v5_many.mat"}) {
    EXPECT_GT(fuzz(data(name), ".mat", 700), 100);
  }
}

TEST_F(IoMatTest, TruncatedVersion73) {
  const std::string bytes = bytes_of(data("io_v73.mat"));
  for (std::size_t size = 0; size < bytes.size(); size += 61) {
    EXPECT_THROW(read_points(file("x.mat", bytes.substr(0, size))), Error) << size;
  }
}

}  // namespace
}  // namespace remblai::io::test
