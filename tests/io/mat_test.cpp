// MATLAB files: versions 5 (SciPy wrote them, plain and packed) and 7.3 (h5py, as MATLAB does, and
// as Python's programs do without it).
#include <atomic>
#include <limits>
#include <thread>

#include "io/io_test_tools.h"

// There in programs with the sanitizer of addresses.
extern "C" __attribute__((weak)) void __asan_init();

namespace remblai::io::test {
namespace {

using IoMatTest = IoTest;

Matrix odd() {
  return points().unaryExpr([](double x) { return double(int(x) % 2); });
}

std::string names(const std::string& path) {
  std::string text;
  for (const Array& array : list(path)) text += array.name + " ";
  return text;
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

TEST_F(IoMatTest, SeveralThreadsReadVersion73AtATime) {
  if (__asan_init)
    GTEST_SKIP() << "a child that was forked beside other threads may find the sanitizer's "
                    "allocator locked for ever";
  const std::string late = data("io_v73_many.mat") + ":";
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> readers;
    for (int reader = 0; reader < 3; ++reader)
      readers.emplace_back([&] {
        for (int loop = 0; loop < 30; ++loop) {
          for (const std::string name : {"single", "i1", "u2", "packed"})
            if (read_points(late + name) != points()) ++wrong;
          if (list(data("io_v73.mat")).size() != 2) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
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
  EXPECT_ERROR(read_points(late + "cell"), "class cell");
  EXPECT_ERROR(read_points(late + "string"), "class string");
  EXPECT_ERROR(read_points(late + "handle"), "class function_handle");
  EXPECT_ERROR(read_points(late + "sparse"), "full(");
  EXPECT_ERROR(read_points(late + "complex"), "complex");
  EXPECT_ERROR(read_points(late + "#refs#"), "there is no array");
  EXPECT_EQ(names(data("io_v73_many.mat")),
            "cube empty huge i1 i8 logical packed promise single u2 u8 ");
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

TEST_F(IoMatTest, ADamagedArrayKeepsNoOtherFromBeingRead) {
  const std::string bytes = bytes_of(data("io_v5_packed.mat"));
  const std::size_t count = list(data("io_v5_packed.mat")).size();
  ASSERT_GT(count, 1u);
  std::string spoilt = bytes;
  spoilt[128 + 8 + 4] ^= 0x55;  // of the first element, behind the front of its packed bytes
  const std::string half = file("half.mat", spoilt);
  EXPECT_EQ(list(half).size(), count - 1);
  ASSERT_EQ(list_refused(half).size(), 1u);
  EXPECT_EQ(list_refused(half)[0].name, "array 1");
  EXPECT_EQ(read_labels(half + ":" + list(half)[0].name), labels());
  EXPECT_ERROR(read_labels(half), "its array 'array 1' is damaged");
}

TEST_F(IoMatTest, ElementsWithoutAnArrayAreNotCollected) {
  const std::string header = bytes_of(data("io_v5.mat")).substr(0, 128);
  const auto elements = [&](int count, const std::string& element) {
    std::string bytes = header;
    for (int i = 0; i < count; ++i) bytes += element;
    return file("x.mat", bytes);
  };
  const std::string empty("\x0f\0\0\0\0\0\0\0", 8), spoilt("\x0f\0\0\0\x01\0\0\0x", 9);
  EXPECT_EQ(list_refused(elements(200, spoilt)).size(), 200u);
  for (const std::string& element : {empty, spoilt})
    EXPECT_ERROR(list_refused(elements(100'000, element)), "more than 200 of its arrays cannot be");
}

TEST_F(IoMatTest, WrittenByPythonInMatlabsOrder) {
  EXPECT_EQ(read_points(data("io_hdf5storage.mat")), points());
  EXPECT_EQ(read_labels(data("io_hdf5storage.mat")), labels());
  EXPECT_EQ(list(data("io_hdf5storage.mat"))[0].type, "double");
  const std::string marked = data("io_h5py_class.mat");
  EXPECT_EQ(read_points(marked + ":X"), points()) << "padded by zeros";
  EXPECT_EQ(read_labels(marked), labels()) << "of variable length";
  EXPECT_EQ(read_points(marked + ":z"), cube()) << "padded by blanks";
  EXPECT_EQ(list(marked)[1].type, "int64");
  EXPECT_EQ(read_points(data("io_h5py_block.mat")), points()) << "a user block, no class";
  EXPECT_EQ(list(data("io_h5py_block.mat"))[0].type, "float64");
}

TEST_F(IoMatTest, WithoutSignsOfMatlabShapesAreTakenAsTheyAre) {
  EXPECT_EQ(read_points(data("io_h5py.mat")), points());
  EXPECT_EQ(read_labels(data("io_h5py.mat")), labels());
  const std::string many = data("io_h5py_many.mat") + ":";
  for (const std::string code :
       {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"}) {
    EXPECT_EQ(read_points(many + code + "_little"), points()) << code;
    EXPECT_EQ(read_points(many + code + "_big"), points()) << code;
  }
  EXPECT_EQ(read_points(many + "bool"), odd());
  EXPECT_EQ(read_points(many + "cube"), cube());
  EXPECT_EQ(read_points(many + "packed"), points());
  EXPECT_EQ(read_vector(many + "number"), Vector::Constant(1, 2.5));
  EXPECT_EQ(list(data("io_h5py_many.mat"))[0].name, "bool");
  EXPECT_EQ(list(data("io_h5py_many.mat"))[0].type, "bool");
  EXPECT_EQ(list(data("io_h5py_many.mat"))[1].shape, (std::vector<Index>{2, 3, 4}));
}

TEST_F(IoMatTest, WhatHdf5HoldsBesidesNumbersIsRefused) {
  const std::string many = data("io_h5py_many.mat") + ":";
  EXPECT_ERROR(read_points(many + "complex"), "complex");
  EXPECT_ERROR(read_points(many + "text"), "it holds text");
  EXPECT_ERROR(read_points(many + "records"), "it holds records");
  EXPECT_ERROR(read_points(many + "long"), "take 16 bytes each");
  EXPECT_ERROR(read_points(many + "group"), "class struct");
  EXPECT_ERROR(read_points(many + "nothing"), "empty");
  EXPECT_ERROR(read_points(many + "outside"), "in another file");
  EXPECT_ERROR(read_points(many + "huge"), "row 2, column 2 (from 1) is beyond 2^53");
  for (const std::string name : {"soft", "elsewhere", "type"}) {
    EXPECT_ERROR(read_points(many + name), "there is no array '" + name + "'");
  }
  const std::string late = data("io_v73_many.mat") + ":";
  EXPECT_ERROR(read_points(late + "empty"), "it is empty (shape 0 x 3)");
  EXPECT_ERROR(read_points(late + "huge"), "row 1, column 2 (from 1) is beyond 2^53");
  EXPECT_ERROR(read_points(late + "promise"), "bytes of numbers, the file holds");
}

TEST_F(IoMatTest, FiltersThatAreNotHereAreNamed) {
  std::string bytes = bytes_of(data("io_v73_many.mat"));
  const std::size_t name = bytes.find("deflate");
  ASSERT_NE(name, std::string::npos);
  ASSERT_EQ(bytes[name - 8], 1);  // the number of the filter; gzip has 1
  bytes[name - 7] = 0x7e;
  const std::string path = file("x.mat", bytes);
  EXPECT_ERROR(read_points(path + ":packed"), "HDF5 filter 32257 ('deflate')");
  EXPECT_EQ(names(path).find("packed"), std::string::npos);
  EXPECT_EQ(read_points(path + ":single"), points());
}

// HDF5 itself crashes on some of these.
TEST_F(IoMatTest, SlowDamagedVersion73) {
  for (const std::string name : {"io_v73.mat", "io_h5py.mat", "io_h5py_many.mat"})
    EXPECT_GT(fuzz(data(name), ".mat", 60), 5) << name;
}

TEST_F(IoMatTest, TruncatedVersion73) {
  for (const std::string name : {"io_v73.mat", "io_h5py.mat", "io_h5py_class.mat"}) {
    const std::string bytes = bytes_of(data(name));
    ASSERT_FALSE(bytes.empty());
    for (std::size_t size = 0; size < bytes.size(); size += 61) {
      const std::string cut = file("x.mat", bytes.substr(0, size));
      EXPECT_THROW(read_points(cut + ":X"), Error) << name << ' ' << size;
      EXPECT_THROW(list(cut), Error) << name << ' ' << size;
    }
    for (const std::size_t lost : {std::size_t{1}, std::size_t{8}, bytes.size() / 3}) {
      EXPECT_ERROR(list(file("x.mat", bytes.substr(0, bytes.size() - lost))),
                   "x.mat': HDF5 cannot open it; the file is truncated or damaged");
    }
  }
}

}  // namespace
}  // namespace remblai::io::test
