// Draws: without replacement, fair, and the same for the same seeds.
#include "draw.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "support.h"

namespace remblai::experiments {
namespace {

std::vector<Index> first(Index count) {
  std::vector<Index> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), Index{100});
  return values;
}

TEST(Draw, TakesEachValueOnce) {
  Draw draw({1, 2});
  const std::vector<Index> chosen = draw.choose(first(50), 20, "values");
  const std::set<Index> different(chosen.begin(), chosen.end());
  EXPECT_EQ(different.size(), 20u);
  EXPECT_GE(*different.begin(), 100);
  EXPECT_LT(*different.rbegin(), 150);
}

TEST(Draw, SeedsMakeTheStream) {
  EXPECT_EQ(Draw({1, 2}).choose(first(50), 50, ""), Draw({1, 2}).choose(first(50), 50, ""));
  EXPECT_NE(Draw({1, 2}).choose(first(50), 50, ""), Draw({2, 1}).choose(first(50), 50, ""));
}

TEST(Draw, EveryValueIsAsLikelyInEveryPlace) {
  constexpr int rounds = 20000;
  Matrix counts = Matrix::Zero(3, 5);
  Draw draw({7});
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Index> chosen = draw.choose(first(5), 3, "values");
    for (Index place = 0; place < 3; ++place)
      ++counts(place, chosen[static_cast<std::size_t>(place)] - 100);
  }
  // Five standard deviations of a binomial count.
  EXPECT_LE((counts.array() - rounds / 5).abs().maxCoeff(), 5 * std::sqrt(rounds * 0.16));
}

TEST(Draw, SaysWhatIsTooFew) {
  EXPECT_EQ(test::message_of([] { Draw({1}).choose(first(3), 4, "source digits"); }),
            "source digits: 4 are needed, there are 3");
}

}  // namespace
}  // namespace remblai::experiments
