// The rules of a side against their definitions: derivatives, Fenchel's inequality, limits.
#include "transport/marginal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace remblai {
namespace {

const double entropy_weight = 0.3;

std::vector<Marginal> both_rules() {
  const Vector w = test::random_weights(6, 1);
  return {Marginal::exact(w), Marginal::relaxed(w, 0.7)};
}

// The factor is the one that makes the sum the wanted one for the potential it leads to.
TEST(Marginal, FactorsMeetWhatIsWanted) {
  const Vector sums = test::random_weights(6, 2), shifts = test::random_matrix(6, 1, 3).col(0);
  for (const Marginal& side : both_rules()) {
    const Vector factors = side.factors(sums, shifts, entropy_weight);
    const Vector potential =
        entropy_weight * std::log(2.0) * (shifts.array() + factors.array().log2());
    EXPECT_LE(side.error(factors.cwiseProduct(sums), potential, entropy_weight), 1e-14);
    for (Index i = 0; i < 6; ++i) {
      EXPECT_EQ(factors[i], side.factor(i, sums[i], shifts[i], side.power(entropy_weight)));
      // From the log of the sum for the potential 0, without the shift.
      EXPECT_NEAR(side.potential(i, std::log2(sums[i]) - shifts[i], side.power(entropy_weight)),
                  shifts[i] + std::log2(factors[i]), 1e-13);
    }
  }
}

TEST(Marginal, TheDualHasTheWantedSumsAsDerivative) {
  const Vector f = test::random_matrix(6, 1, 4).col(0);
  for (const Marginal& side : both_rules()) {
    const Vector wanted = side.wanted(f, entropy_weight);
    for (Index i = 0; i < 6; ++i) {
      const double h = 1e-5;
      Vector up = f, down = f, change = Vector::Zero(6);
      up[i] += h;
      down[i] -= h;
      change[i] = h;
      EXPECT_NEAR((side.dual(up, entropy_weight) - side.dual(down, entropy_weight)) / (2 * h),
                  wanted[i], 1e-8);
      EXPECT_NEAR(side.dual_gain(f, change, entropy_weight),
                  side.dual(up, entropy_weight) - side.dual(f, entropy_weight), 1e-13);
      const double second =
          (side.wanted(up, entropy_weight)[i] - side.wanted(down, entropy_weight)[i]) / (2 * h);
      EXPECT_NEAR(-second, side.curvature() * wanted[i], 1e-8);
    }
  }
}

TEST(Marginal, FenchelsInequalityIsTightWhereItShouldBe) {
  const Marginal side = Marginal::relaxed(test::random_weights(6, 1), 0.7);
  const Vector f = test::random_matrix(6, 1, 5).col(0);
  const auto gap = [&](const Vector& sums) {
    return sums.dot(f) + side.divergence(sums, entropy_weight) - side.dual(f, entropy_weight);
  };
  EXPECT_NEAR(gap(side.wanted(f, entropy_weight)), 0, 1e-14);
  EXPECT_GT(gap(1.1 * side.wanted(f, entropy_weight)), 1e-3);
  EXPECT_GT(gap(Vector::Zero(6)), 1e-3);
}

TEST(Marginal, ALargeTauIsExact) {
  const Vector w = test::random_weights(6, 1), f = test::random_matrix(6, 1, 6).col(0);
  const Marginal exact = Marginal::exact(w), nearly = Marginal::relaxed(w, 1e9);
  EXPECT_NEAR(exact.dual(f, entropy_weight), nearly.dual(f, entropy_weight), 1e-8);
  EXPECT_LE((exact.wanted(f, entropy_weight) - nearly.wanted(f, entropy_weight)).norm(), 1e-8);
  EXPECT_EQ(exact.divergence(2 * w, entropy_weight), 0);
}

}  // namespace
}  // namespace remblai
