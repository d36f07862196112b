// What the io tests share: the fixtures' formulas, a folder of their own, damage by formula.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "remblai/error.h"
#include "remblai/io.h"

namespace remblai::io::test {

inline std::string data(const std::string& name) {
  return std::string(REMBLAI_TEST_DATA "/") + name;
}

/// P[i, j] = 10 i + j, as tests/data/make_io_fixtures.py has it.
inline Matrix points() {
  return Matrix::NullaryExpr(4, 3, [](Index i, Index j) { return 10.0 * double(i) + double(j); });
}

/// 0..23 as two rows: a cube of 2 x 3 x 4, the last index running fastest.
inline Matrix cube() {
  return Matrix::NullaryExpr(2, 12, [](Index i, Index j) { return 12.0 * double(i) + double(j); });
}

inline Labels labels() {
  return (Labels(4) << 3, 1, 2, 1).finished();
}

/// The message of the Error that `call` must throw; empty, with a failure, when it does not.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

#define EXPECT_ERROR(call, part)                                           \
  EXPECT_NE(error_of([&] { (void)(call); }).find(part), std::string::npos) \
      << "message: " << error_of([&] { (void)(call); })

/// Every test gets an empty folder, removed afterwards.
class IoTest : public testing::Test {
 protected:
  IoTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::temp_directory_path() / ("remblai-" + std::to_string(::getpid()) + "-" +
                                                  info->test_suite_name() + "-" + info->name());
    std::filesystem::create_directories(folder_);
  }
  ~IoTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Made anew each time: writing over an old file makes ext4 wait for the disk.
  std::string file(const std::string& name, const std::string& bytes) const {
    std::filesystem::remove(path(name));
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  static std::string bytes_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  /// Every proper prefix of the file must be refused, or give `whole`: a file cut after the array
  /// that is read has lost nothing of it.
  void expect_prefixes_safe(const std::string& source, const std::string& name,
                            const std::string& suffix, const Matrix& whole,
                            std::size_t complete) const {
    const std::string bytes = bytes_of(source);
    ASSERT_FALSE(bytes.empty());
    const std::string cut = path("cut" + suffix);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      file("cut" + suffix, bytes.substr(0, size));
      try {
        const Matrix values = read_points(name.empty() ? cut : cut + ":" + name);
        EXPECT_GE(size, complete) << "a truncated file was taken";
        EXPECT_EQ(values, whole) << size;
      } catch (const Error&) {
        EXPECT_LT(size, bytes.size());
      }
    }
  }

  /// Random bytes changed: nothing but Error may come of it. Returns how often it was thrown.
  int fuzz(const std::string& source, const std::string& suffix, int times) const {
    const std::string bytes = bytes_of(source);
    std::mt19937 random(7);
    const std::string target = path("fuzz" + suffix);
    int errors = 0;
    for (int i = 0; i < times; ++i) {
      std::string damaged = bytes;
      for (auto changes = 1 + random() % 4; changes > 0; --changes) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      file("fuzz" + suffix, damaged);
      try {
        for (const Array& array : list(target)) {
          read_points(array.name.empty() ? target : target + ":" + array.name);
        }
        read_labels(target);
      } catch (const Error&) {
        ++errors;
      }
    }
    return errors;
  }

  std::filesystem::path folder_;
};

}  // namespace remblai::io::test
