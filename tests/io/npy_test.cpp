// .npy and .npz against files NumPy wrote, what is written against what is read, and damage.
#include <limits>

#include "io/formats.h"
#include "io/io_test_tools.h"

namespace remblai::io::test {
namespace {

using IoNpyTest = IoTest;
using IoNpzTest = IoTest;

/// A version 1 header around this dictionary, then `numbers` zero bytes.
std::string npy(const std::string& dictionary, std::size_t numbers) {
  std::string text = std::string("\x93NUMPY\x01\0", 8);
  text += static_cast<char>(dictionary.size() & 0xff);
  text += static_cast<char>(dictionary.size() >> 8);
  return text + dictionary + std::string(numbers, '\0');
}

TEST_F(IoNpyTest, EveryTypeInBothByteOrders) {
  for (const std::string code :
       {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"}) {
    for (const std::string order : {"little", "big"}) {
      EXPECT_EQ(read_points(data("io_points_" + code + "_" + order + ".npy")), points())
          << code << order;
    }
  }
  const Matrix odd = read_points(data("io_bool.npy"));
  EXPECT_EQ(odd, points().unaryExpr([](double x) { return double(int(x) % 2); }));
}

TEST_F(IoNpyTest, HalfPrecisionIsExact) {
  // 1/3 rounded to half, the smallest subnormal, -2 and the largest.
  const std::string halves = std::string("\x55\x35\x01\x00\x00\xc0\xff\x7b", 8);
  std::string bytes = npy("{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }", 0) + halves;
  const Vector values = read_vector(file("half.npy", bytes));
  EXPECT_EQ(values, (Vector(4) << 1365.0 / 4096, 0x1p-24, -2, 65504).finished());
}

TEST_F(IoNpyTest, BothOrdersOfMemoryAndAllVersions) {
  for (const std::string name : {"fortran", "fortran_big", "v2", "v3"}) {
    EXPECT_EQ(read_points(data("io_points_" + name + ".npy")), points()) << name;
  }
  EXPECT_EQ(read_points(data("io_cube_c.npy")), cube());
  EXPECT_EQ(read_points(data("io_cube_fortran.npy")), cube());
  EXPECT_EQ(read_points(data("io_cube_c.npy"), true), cube().transpose());
}

TEST_F(IoNpyTest, ScalarsAndLists) {
  EXPECT_EQ(read_points(data("io_scalar.npy")), Matrix::Constant(1, 1, 2.5));
  EXPECT_TRUE(list(data("io_scalar.npy"))[0].shape.empty());
  EXPECT_EQ(read_points(data("io_labels.npy")), labels().cast<double>());
  for (const std::string name : {"", "_row", "_column"}) {
    EXPECT_EQ(read_labels(data("io_labels" + name + ".npy")), labels()) << name;
  }
}

TEST_F(IoNpyTest, RefusesWhatIsNotNumbers) {
  EXPECT_ERROR(read_points(data("io_refused_complex.npy")), "complex");
  EXPECT_ERROR(read_points(data("io_refused_text.npy")), "text");
  EXPECT_ERROR(read_points(data("io_refused_object.npy")), "Python objects");
  EXPECT_ERROR(read_points(data("io_refused_structured.npy")), "structured");
  EXPECT_ERROR(read_points(data("io_huge_i8.npy")), "row 2, column 1 (from 1) is beyond 2^53");
  EXPECT_ERROR(read_labels(data("io_huge_u8.npy")), "2^53");
  EXPECT_ERROR(read_points(data("io_nan.npy")), "row 2, column 2 (from 1) is nan");
}

TEST_F(IoNpyTest, HeadersThatPromiseTooMuchAreRefusedBeforeMemoryIsTaken) {
  const auto with_shape = [&](const std::string& shape, std::size_t held) {
    return file("x.npy",
                npy("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }", held));
  };
  EXPECT_ERROR(read_points(with_shape("(1000,)", 120)),
               "the header promises 8000 bytes of numbers, the file holds 120; the file is "
               "truncated or not a .npy file");
  EXPECT_ERROR(read_points(with_shape("(2, 2)", 40)), "damaged");
  EXPECT_ERROR(read_points(with_shape("(1000000, 1000000)", 8)), "promises 8000000000000 bytes");
  EXPECT_ERROR(read_points(with_shape("(4611686018427387904, 4)", 8)), "impossible");
  EXPECT_ERROR(read_points(with_shape("(1, 4611686018427387904, 4)", 8)), "impossible");
  EXPECT_ERROR(read_points(with_shape("(99999999999999999999,)", 8)), "cannot be understood");
  EXPECT_ERROR(read_points(with_shape("(-1, 8)", 8)), "impossible");
  EXPECT_ERROR(read_points(with_shape("(0, 3)", 0)), "it is empty (shape 0 x 3)");
  EXPECT_ERROR(read_points(with_shape("(0, 4611686018427387904, 4)", 0)), "impossible");
}

TEST_F(IoNpyTest, OddHeaders) {
  const auto reads = [&](const std::string& dictionary) {
    return read_points(file("x.npy", npy(dictionary, 16)));
  };
  const Matrix zeros = Matrix::Zero(2, 1);
  EXPECT_EQ(reads("{\"shape\": (2L,), 'fortran_order':True,'descr':'=f8'}\n"), zeros);
  EXPECT_ERROR(reads("{'descr': '<f8', 'fortran_order': False}"), "cannot be understood");
  EXPECT_ERROR(reads("{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}"), "understood");
  EXPECT_ERROR(reads("{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}"), "unsupported");
  EXPECT_ERROR(reads("{'descr': '', 'fortran_order': False, 'shape': (1,)}"), "unsupported");
  EXPECT_ERROR(reads("{'descr': [['\x01"), "\\x01");
  EXPECT_ERROR(read_points(file("y.npy", "PK and so on, not NumPy")), "does not begin like");
  EXPECT_ERROR(read_points(file("y.npy", std::string("\x93NUMPY\x09\0\0\0", 10))), "version 9");
}

TEST_F(IoNpyTest, WrittenFilesComeBackBitForBit) {
  Matrix values = Matrix::Random(7, 5);
  values(3, 2) = std::numeric_limits<double>::denorm_min();
  values(4, 4) = -std::numeric_limits<double>::max();
  write_npy(path("x.npy"), values);
  EXPECT_EQ(read_points(path("x.npy")), values);
  const Labels whole =
      (Labels(3) << 1 - (std::int64_t{1} << 53), 0, (std::int64_t{1} << 53) - 1).finished();
  write_npy(path("y.npy"), whole);
  EXPECT_EQ(read_labels(path("y.npy")), whole);
  EXPECT_EQ(list(path("y.npy"))[0].type, "int64");
  EXPECT_EQ(bytes_of(path("x.npy")).size() % 64, 7 * 5 * 8 % 64) << "the header is not aligned";
  EXPECT_EQ(files(), 2u) << "a temporary file was left";
}

TEST_F(IoNpzTest, ReadsStoredAndPackedArchives) {
  for (const std::string name : {"io_stored.npz", "io_packed.npz"}) {
    EXPECT_EQ(read_points(data(name)), points()) << name;
    EXPECT_EQ(read_labels(data(name)), labels()) << name;
    EXPECT_EQ(read_points(data(name) + ":X"), points()) << name;
  }
  EXPECT_EQ(list(data("io_packed.npz")).size(), 2u) << "text is no array of numbers";
  EXPECT_ERROR(read_points(data("io_packed.npz") + ":note"), "text");
  EXPECT_ERROR(read_points(data("io_promise.npz")), "promises 9600000 bytes of numbers");
}

TEST_F(IoNpzTest, WrittenArchivesComeBackAndAreEqualFiles) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::map<std::string, Value> arrays{{"matrix", Matrix(Matrix::Random(3, 4))},
                                            {"vector", Vector((Vector(2) << -inf, 1).finished())},
                                            {"empty", Matrix(0, 5)},
                                            {"labels", labels()},
                                            {"text", std::string("{\"a\": 1}")}};
  write_npz(path("a.npz"), arrays);
  write_npz(path("b.npz"), arrays);
  EXPECT_EQ(bytes_of(path("a.npz")), bytes_of(path("b.npz")));
  const auto back = read_npz(path("a.npz"));
  ASSERT_EQ(back.size(), 5u);
  EXPECT_EQ(back.at("matrix").values, std::get<Matrix>(arrays.at("matrix")));
  EXPECT_EQ(back.at("vector").values(0, 0), -inf);
  EXPECT_EQ(back.at("vector").shape, std::vector<Index>{2});
  EXPECT_EQ(back.at("empty").shape, (std::vector<Index>{0, 5}));
  EXPECT_EQ(back.at("labels").type, "int64");
  EXPECT_EQ(back.at("text").values.sum(), [&] {
    double sum = 0;
    for (const char c : std::get<std::string>(arrays.at("text"))) sum += c;
    return sum;
  }());
  EXPECT_EQ(files(), 2u) << "a temporary file was left";
  EXPECT_ERROR(write_npz(path("c.npz"), {}), "no array");
  EXPECT_FALSE(std::filesystem::exists(path("c.npz")));
}

TEST_F(IoNpzTest, ANameThatComesTwiceIsRefused) {
  write_npz(path("a.npz"), {{"first", points()}, {"other", Matrix(points())}});
  std::string bytes = bytes_of(path("a.npz"));
  for (auto at = bytes.find("other.npy"); at != std::string::npos; at = bytes.find("other.npy"))
    bytes.replace(at, 5, "first");
  const std::string twice = file("twice.npz", bytes);
  EXPECT_ERROR(read_points(twice + ":first"), "two arrays are called 'first'");
  EXPECT_ERROR(list(twice), "two arrays are called 'first'");
  EXPECT_ERROR(read_npz(twice), "two arrays are called 'first'");
}

TEST_F(IoNpzTest, ADamagedArrayKeepsNoOtherFromBeingRead) {
  write_npz(path("a.npz"), {{"good", points()}, {"spoilt", Matrix(points())}});
  std::string bytes = bytes_of(path("a.npz"));
  const auto at = bytes.find("NUMPY", bytes.find("spoilt.npy"));
  bytes[at] = 'X';
  const std::string half = file("half.npz", bytes);
  EXPECT_EQ(list(half).size(), 1u);
  EXPECT_EQ(read_points(half + ":good"), points());
  EXPECT_ERROR(read_points(half), "its array 'spoilt' is damaged: it does not begin like a .npy");
  ASSERT_EQ(list_refused(half).size(), 1u);
  EXPECT_EQ(list_refused(half)[0].name, "spoilt");
  EXPECT_EQ(list_refused(half)[0].reason, "it does not begin like a .npy file");
  EXPECT_ERROR(read_points(half + ":spoilt"), "half.npz:spoilt': it does not begin like a .npy");
}

TEST_F(IoNpzTest, MembersThatShareTheirBytesAreRefused) {
  const std::string bytes = bytes_of(data("../fuzz/regressions/npz/shared_bytes"));
  EXPECT_ERROR(list(file("a.npz", bytes)), "its members share their bytes");
  EXPECT_ERROR(read_npz(path("a.npz")), "its members share their bytes");
}

TEST_F(IoNpzTest, OnlyWhatIsWantedIsRead) {
  write_npz(path("a.npz"), {{"good", points()}, {"spoilt", Matrix(points())}});
  std::string bytes = bytes_of(path("a.npz"));
  bytes[bytes.find("NUMPY", bytes.find("spoilt.npy"))] = 'X';
  const std::string half = file("half.npz", bytes);
  EXPECT_ERROR(read_npz(half), "spoilt");
  EXPECT_EQ(read_npz(half, [](std::string_view name) { return name == "good"; }).size(), 1u);
}

// The file has a hole in place of its numbers.
TEST_F(IoNpyTest, MoreNumbersThanFitIntoMemoryAreRefusedBeforeTheyAreRead) {
  const Index count = Index{1} << 38;
  const std::string bomb = file("bomb.npy", npy_header(Scalar::u8, {count}));
  std::filesystem::resize_file(bomb, std::filesystem::file_size(bomb) + (std::size_t{1} << 38));
  EXPECT_ERROR(read_points(bomb), "take 2048.0 GiB, more memory than there is");
}

TEST_F(IoNpzTest, AWrongChecksumIsSeen) {
  write_npz(path("a.npz"), {{"x", Vector(Vector::Ones(9))}});
  std::string bytes = bytes_of(path("a.npz"));
  const auto at = bytes.find("\xf0\x3f");
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  EXPECT_ERROR(read_vector(file("b.npz", bytes)), "CRC");
}

TEST_F(IoNpyTest, PrefixesAndDamage) {
  const auto whole = std::numeric_limits<std::size_t>::max();
  for (const std::string name : {"io_points_f8_little.npy", "io_points_v3.npy"}) {
    expect_prefixes_safe(data(name), "", ".npy", points(), whole);
  }
  for (const std::string name : {"io_points_fortran.npy", "io_points_i2_big.npy"}) {
    EXPECT_GT(fuzz(data(name), ".npy", 1000), 100);
  }
}

TEST_F(IoNpzTest, PrefixesAndDamage) {
  const auto whole = std::numeric_limits<std::size_t>::max();
  for (const std::string name : {"io_stored.npz", "io_packed.npz"}) {
    expect_prefixes_safe(data(name), "X", ".npz", points(), whole);
    EXPECT_GT(fuzz(data(name), ".npz", 1000), 100);
  }
}

}  // namespace
}  // namespace remblai::io::test
