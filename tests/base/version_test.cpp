// The version is the one of the build: three numbers.
#include "remblai/version.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace remblai {
namespace {

TEST(Version, IsThreeNumbers) {
  EXPECT_TRUE(std::regex_match(version(), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+"))) << version();
}

std::string text_of(const char* file) {
  std::ifstream stream(std::string(REMBLAI_TEST_DATA) + "/../../" + file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// CMakeLists.txt has the version; whatever else states it must follow.
TEST(Version, IsTheOneThatIsStated) {
  const std::string now = version(), minor = now.substr(0, now.rfind('.'));
  EXPECT_NE(text_of("CITATION.cff").find("\nversion: " + now + "\n"), std::string::npos);
  const std::string changes = text_of("CHANGELOG.md");
  const auto first = changes.find("\n## [");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(changes.substr(first + 4, now.size() + 2), "[" + now + "]");
  for (const char* page : {"README.md", "docs/reference/cpp.md", "tests/consumer/CMakeLists.txt"})
    EXPECT_NE(text_of(page).find("find_package(remblai " + minor + " "), std::string::npos) << page;
}

TEST(Version, BuildNamesCompilerAndBlas) {
  EXPECT_TRUE(
      std::regex_search(build(), std::regex("^compiler .+, OpenBLAS .+ with kernels for \\w+")))
      << build();
}

}  // namespace
}  // namespace remblai
