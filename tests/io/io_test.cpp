// What every format shares: specs, the choice of an array, refusals, writing all or nothing.
#include "io/io_test_tools.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <limits>

namespace remblai::io::test {
namespace {

TEST_F(IoTest, SpecsAreSplitWhereTheFileEnds) {
  const std::string odd = file("a:b.npy", bytes_of(data("io_labels.npy")));
  const std::string plain = file("t.csv", "x:y,z\n1,2\n");
  EXPECT_EQ(parse_spec(odd).path, odd);
  EXPECT_EQ(parse_spec(odd).name, "");
  EXPECT_EQ(parse_spec(plain + ":x:y").path, plain);
  EXPECT_EQ(parse_spec(plain + ":x:y").name, "x:y");
  EXPECT_EQ(parse_spec("gone.npz:X").path, "gone.npz");
  EXPECT_EQ(parse_spec("gone.npz:X").name, "X");
  EXPECT_EQ(parse_spec("http://example.org").path, "http://example.org");
  EXPECT_EQ(read_labels(odd), labels());
  EXPECT_EQ(read_vector(plain + ":x:y"), Vector::Ones(1));
  file("a", "no data");
  EXPECT_EQ(parse_spec(odd + ":x").path, odd) << "a file of a known format before any other";
  EXPECT_ERROR(parse_spec(plain + ":"), "must follow the colon");
  EXPECT_ERROR(parse_spec(""), "empty");
}

TEST_F(IoTest, FilesThatAreNotThere) {
  EXPECT_ERROR(read_points(path("gone.npy")), "no such file");
  EXPECT_ERROR(read_points(path("gone.npz:X")), "gone.npz': no such file");
  EXPECT_ERROR(read_points(path("gone")), "no such file");
  EXPECT_ERROR(read_points(folder_.string()), "folder");
  std::filesystem::create_directory(path("folder.npz"));
  EXPECT_ERROR(read_points(path("folder.npz")), "folder");
  EXPECT_ERROR(list(path("folder.npz")), "folder");
  EXPECT_ERROR(read_points(file("x.xlsx", "PK")), ".npy, .npz, .csv, .tsv, .mat, .idx");
  for (const std::string name :
       {"x.npy", "x.npz", "x.csv", "x.tsv", "x.mat", "x.idx", "x.idx.gz"}) {
    EXPECT_ERROR(read_points(file(name, "")), "the file is empty");
  }
  ASSERT_EQ(::mkfifo(path("pipe.csv").c_str(), 0600), 0);
  EXPECT_ERROR(read_points(path("pipe.csv")), "not a regular file");
  if (::geteuid() != 0) {
    std::filesystem::permissions(file("shut.csv", "1"), std::filesystem::perms::none);
    EXPECT_ERROR(read_points(path("shut.csv")), "Permission denied");
  }
}

TEST_F(IoTest, AVisitShowsWhatIsListedAndReadsItAsByName) {
  for (const std::string name : {"io_two.npz", "io_packed.npz", "io_v5_many.mat", "io_v73_many.mat",
                                 "io_labels.npy", "io_cube-idx3-ubyte"}) {
    const std::vector<Array> listed = list(data(name));
    std::size_t place = 0;
    visit(data(name), [&](const Array& about, const std::function<Array()>& read) {
      ASSERT_LT(place, listed.size());
      EXPECT_EQ(about.name, listed[place].name);
      EXPECT_EQ(about.shape, listed[place++].shape);
      const auto named = [&] {
        return read_array(about.name.empty() ? data(name) : data(name) + ":" + about.name);
      };
      try {
        EXPECT_EQ(read().values, named().values) << name << about.name;
      } catch (const Error& error) {
        EXPECT_EQ(error_of(named), error.what());
      }
    });
    EXPECT_EQ(place, listed.size()) << name;
  }
  Index rows = 0;
  visit(file("t.csv", "a,b\n1,x\n2,3\n"), [&](const Array& about, const auto& read) {
    if (about.name == "a") rows = read().values.rows();
  });
  EXPECT_EQ(rows, 2);
}

// Ten times the arrays take about ten times as long; to look for each anew takes a hundred.
TEST_F(IoTest, TimeIsLinearInTheArrays) {
  const std::string old = bytes_of(data("io_v5.mat"));
  const auto seconds = [&](int count) {
    std::map<std::string, Value> arrays;
    std::string elements = old.substr(0, 128);
    for (int i = 0; i < count; ++i) {
      arrays[std::to_string(i)] = Vector(Vector::Ones(1));
      elements += old.substr(128);
    }
    write_npz(path("many.npz"), arrays);
    file("many.mat", elements);
    const auto start = std::chrono::steady_clock::now();
    int read_so_far = 0;
    for (const char* name : {"many.npz", "many.mat"})
      visit(path(name),
            [&](const Array&, const auto& read) { read_so_far += read().values(0) >= 0; });
    EXPECT_GE(read_so_far, 2 * count);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double one = seconds(300), ten = seconds(3000);
  EXPECT_LT(ten, 40 * one + 0.2);
}

TEST_F(IoTest, OneArrayIsChosenByItsShape) {
  const std::string two = data("io_two.npz");
  EXPECT_ERROR(read_points(two),
               "holds 4 arrays: 'A' (4 x 3, float64); 'B' (2 x 3 x 4, float64); 'y' (4, int64); "
               "'w' (4, float64); name one, as in " +
                   two + ":A");
  EXPECT_ERROR(read_labels(two), "name one, as in " + two + ":y");
  EXPECT_EQ(read_points(two, false, {two + ":B"}), points()) << "B is left out";
  EXPECT_EQ(read_points(two, false, {two + ":y", two + ":A", ""}), cube());
  EXPECT_EQ(read_points(two + ":B"), cube());
  EXPECT_EQ(read_labels(two + ":y"), labels());
  EXPECT_ERROR(read_labels(two + ":w"), "label 1 (from 1) is 0.75");
  EXPECT_ERROR(read_labels(two + ":A"), "one row or one column, this is 4 x 3");
  EXPECT_ERROR(read_points(two + ":C"), "there is no array 'C'; it has 'A', 'B', 'y', 'w'");
  EXPECT_ERROR(read_points(data("io_labels.npy") + ":y"), "leave out ':y'");

  write_npz(path("one.npz"), {{"only", Vector(Vector::Ones(3))}});
  EXPECT_EQ(read_points(path("one.npz")), Matrix::Ones(3, 1)) << "the only array, though a list";
  write_npz(path("none.npz"), {{"empty", Matrix(0, 3)}});
  EXPECT_ERROR(read_points(path("none.npz")), "no array of numbers that could be taken");
}

TEST_F(IoTest, NearestName) {
  const std::vector<std::string> names{"labels", "label", "points", "x"};
  EXPECT_EQ(nearest_name("labl", names), "label");
  EXPECT_EQ(nearest_name("labelss", names), "labels");
  EXPECT_EQ(nearest_name("label", names), "label");
  EXPECT_EQ(nearest_name("y", names), "") << "nothing of it would be left";
  EXPECT_EQ(nearest_name("weights", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("a", {}), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), {std::string(100000, 'b')}), "");
}

TEST_F(IoTest, LabelsAreWhole) {
  write_npy(path("y.npy"), Matrix((Matrix(1, 3) << 1, -2, 1e300).finished()));
  EXPECT_ERROR(read_labels(path("y.npy")), "label 3 (from 1) is 1e+300");
  const double inf = std::numeric_limits<double>::infinity();
  write_npy(path("y.npy"), Matrix((Matrix(1, 2) << 1, -inf).finished()));
  EXPECT_ERROR(read_labels(path("y.npy")), "row 1, column 2 (from 1) is -inf");
  EXPECT_ERROR(read_vector(path("y.npy")), "row 1, column 2 (from 1) is -inf");
}

TEST_F(IoTest, WritingLeavesTheWholeFileOrNothing) {
  write_text(path("a.txt"), "first");
  write_text(path("a.txt"), "second, longer");
  EXPECT_EQ(bytes_of(path("a.txt")), "second, longer");
  EXPECT_EQ(files(), 1u);

  const std::map<std::string, Value> arrays{{"x", Vector(Vector::Ones(2))}};
  EXPECT_ERROR(write_text(path("gone/a.txt"), "x"), "there is no folder '" + path("gone/"));
  EXPECT_ERROR(write_npz(path("gone/a.npz"), arrays), "there is no folder");
  EXPECT_ERROR(write_npy(path("a.txt/b.npy"), labels()), "there is no folder");
  EXPECT_ERROR(write_text("", "x"), "empty");
  std::filesystem::create_directory(path("folder"));
  EXPECT_ERROR(write_text(path("folder"), "x"), "Is a directory");
  EXPECT_ERROR(write_npz(path("folder"), arrays), "Is a directory");
  EXPECT_ERROR(write_text("/proc/remblai.txt", "x"), "cannot write '/proc/remblai.txt'");
  EXPECT_EQ(files(), 2u) << "a temporary file was left";
}

TEST_F(IoTest, WhatTheSystemRefusedHasItsNumber) {
  const auto code = [](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.message().code;
    }
    return -1;
  };
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(code([&] { write_text(path("folder"), "x"); }), EISDIR);
  EXPECT_EQ(code([&] { write_text(path("nowhere/a.txt"), "x"); }), ENOENT);
  EXPECT_EQ(code([&] { read_points(path("nothing.npy")); }), ENOENT);
  EXPECT_EQ(code([&] { read_points(path("folder")); }), EISDIR);
  write_text(path("a.npy"), "no array");
  EXPECT_EQ(code([&] { read_points(path("a.npy")); }), 0);
}

TEST_F(IoTest, WrittenFilesHaveTheUsualPermissions) {
  const mode_t before = ::umask(022);
  write_text(path("a.txt"), "x");
  write_npz(path("a.npz"), {{"x", Vector(Vector::Ones(2))}});
  ::umask(before);
  for (const std::string name : {"a.txt", "a.npz"}) {
    struct stat about {};
    ASSERT_EQ(::stat(path(name).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0644u) << name;
  }
}

}  // namespace
}  // namespace remblai::io::test
