// The version is the one of the build: three numbers.
#include "remblai/version.h"

#include <gtest/gtest.h>

#include <regex>

namespace remblai {
namespace {

TEST(Version, IsThreeNumbers) {
  EXPECT_TRUE(std::regex_match(version(), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+"))) << version();
}

TEST(Version, BuildNamesCompilerAndBlas) {
  EXPECT_TRUE(
      std::regex_search(build(), std::regex("^compiler .+, OpenBLAS .+ with kernels for \\w+")))
      << build();
}

}  // namespace
}  // namespace remblai
