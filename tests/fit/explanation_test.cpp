// The choice between a translation and none, counted over many draws: where the data cannot tell,
// and where a change of the class shares looks like a translation.
#include <gtest/gtest.h>

#include "fit/class_test_tools.h"
#include "remblai/fit.h"

namespace remblai {
namespace {

constexpr int draws = 30;

// Two normal classes of deviation 1, `apart` from each other. A source point of two is of the
// second class, and a target point of `one_in`.
Problem two_classes(Index m, Index n, Index one_in, double apart, double shift, unsigned seed) {
  const auto draw = [&](Index size, Index every, unsigned number) {
    Domain domain{test::random_matrix(size, 3, number), Labels::Zero(size), {}};
    for (Index i = 0; i < size; i += every) {
      domain.labels[i] = 1;
      domain.points(i, 0) += apart;
    }
    return domain;
  };
  Problem problem;
  problem.source = draw(m, 2, 2 * seed);
  problem.target = draw(n, one_in, 2 * seed + 1);
  problem.target.points.array() += shift;
  return problem;
}

// In how many draws the source was moved onto the mean of the target.
int translated(Index m, Index n, Index one_in, double apart, double shift) {
  int count = 0;
  for (int seed = 0; seed < draws; ++seed)
    if (fit(two_classes(m, n, one_in, apart, shift, static_cast<unsigned>(seed)),
            {.method = Method::class_aware})
            .classes->translated)
      ++count;
  return count;
}

// Both explanations are right, and a translation does less harm where they are not.
TEST(Explanation, WhereTheDataCannotTellATranslationIsTaken) {
  const int count =
      translated(20, 40, 2, 2, 0) + translated(20, 40, 2, 3, 0) + translated(30, 20, 2, 2, 0);
  EXPECT_GE(count, 3 * draws - 4);
}

// The means differ as the shares do, and a translation that makes them one fits the better by
// chance.
TEST(Explanation, AChangeOfTheSharesIsNotTakenForATranslation) {
  const int count =
      translated(20, 40, 4, 4, 0) + translated(60, 60, 4, 3, 0) + translated(60, 60, 4, 2, 0);
  EXPECT_LE(count, 30);
  EXPECT_LE(translated(60, 60, 8, 3, 0), 2);
}

TEST(Explanation, ALongTranslationIsFoundWhateverTheShares) {
  for (const Index one_in : {2, 4, 8}) EXPECT_EQ(translated(20, 40, one_in, 3, 3), draws) << one_in;
}

}  // namespace
}  // namespace remblai
