// Distances of two clouds: by their definition, and after a translation.
#include "fit/clouds.h"

#include <gtest/gtest.h>

#include "fit/class_test_tools.h"

namespace remblai {
namespace {

using test::difference;
using test::random_matrix;

Matrix plain(const Matrix& a, const Matrix& b) {
  Matrix squares(a.rows(), b.rows());
  for (Index i = 0; i < a.rows(); ++i)
    squares.row(i) = (b.rowwise() - a.row(i)).rowwise().squaredNorm().transpose();
  return squares;
}

// From the upper triangle.
Matrix whole(const Matrix& upper) {
  return upper.selfadjointView<Eigen::Upper>();
}

TEST(Clouds, TheDistancesAreThoseOfThePoints) {
  const Matrix x = random_matrix(12, 5, 1), z = random_matrix(17, 5, 2).array() + 3;
  const Clouds clouds(x, z);
  ASSERT_TRUE(clouds.measured());
  EXPECT_LT(difference(whole(clouds.xx()), plain(x, x)), 1e-12);
  EXPECT_LT(difference(whole(clouds.zz()), plain(z, z)), 1e-12);
  EXPECT_LT(difference(clouds.zx(), plain(z, x)), 1e-12);
}

TEST(Clouds, ATranslationMovesTheSourceAlone) {
  const Matrix x = random_matrix(12, 5, 3), z = random_matrix(17, 5, 4).array() + 1;
  for (const double size : {1e-6, 1.0, 1e6}) {
    const Eigen::RowVectorXd shift = size * random_matrix(1, 5, 5).row(0);
    const Clouds moved = Clouds(x, z).translated(shift);
    const Matrix there = x.rowwise() + shift;
    EXPECT_EQ(moved.x, there);
    EXPECT_LT(difference(whole(moved.xx()), plain(x, x)), 1e-12);
    EXPECT_LT(difference(moved.zx(), plain(z, there)), 1e-14 * (1 + size * size) * 100) << size;
  }
}

TEST(Clouds, AreMeasuredWithinTheBudgetOnly) {
  const Matrix x = random_matrix(12, 5, 1), z = random_matrix(17, 5, 2);
  EXPECT_TRUE(Clouds(x, z, {}, measured_bytes(29)).measured());
  const Clouds unmeasured(x, z, {}, measured_bytes(29) - 1);
  EXPECT_FALSE(unmeasured.measured());
  EXPECT_FALSE(unmeasured.translated(Eigen::RowVectorXd::Ones(5)).measured());
}

TEST(Clouds, TheMeanDistanceNeedsNoDistances) {
  const Index m = most_measured - 20;
  const Matrix x = random_matrix(m, 2, 6), z = random_matrix(21, 2, 7).array() + 1;
  const Vector p = test::random_weights(m, 8), q = test::random_weights(21, 9);
  const Clouds large(x, z);
  EXPECT_FALSE(large.measured());
  const double mean = q.dot(plain(z, x) * p);
  EXPECT_NEAR(large.mean_distance(p, q), mean, 1e-12 * mean);
  EXPECT_FALSE(large.translated(Eigen::RowVectorXd::Ones(2)).measured());
}

}  // namespace
}  // namespace remblai
