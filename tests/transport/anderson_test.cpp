// On a linear iteration mixing is exact once it has looked back over all dimensions.
#include "transport/anderson.h"

#include <gtest/gtest.h>

#include "support.h"

namespace remblai {
namespace {

TEST(Anderson, SolvesALinearIterationInAsManyStepsAsDimensions) {
  // t = M y + c contracts by 0.99 a step: plain iterations would take a thousand.
  const Vector rates{{0.99, 0.9, -0.5}}, c{{1, 2, 3}};
  const Vector solution = c.array() / (1 - rates.array());
  Anderson memory(3);
  Vector y = Vector::Zero(3);
  for (int k = 0; k < 6; ++k) y = memory.next(y, rates.cwiseProduct(y) + c);
  EXPECT_LE((y - solution).norm(), 1e-3 * solution.norm());
}

TEST(Anderson, TheFirstStepAndTheFirstAfterClearingArePlain) {
  Anderson memory(2);
  const Vector a{{1, 2}}, b{{3, 5}}, c{{4, 4}};
  EXPECT_TRUE(memory.empty());
  EXPECT_EQ(memory.next(a, b), b);
  EXPECT_FALSE(memory.empty());
  EXPECT_NE(memory.next(b, c), c);
  memory.clear();
  EXPECT_TRUE(memory.empty());
  EXPECT_EQ(memory.next(b, c), c);
}

}  // namespace
}  // namespace remblai
