// Logistic regression is at the minimum of its objective.
#include "fit/logistic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"

namespace remblai {
namespace {

using test::class_problem;
using test::random_matrix;

// |W|^2/2 - m sum_i w_i ln softmax(x_i'W + b), written out.
double objective(const Matrix& x, const std::vector<Index>& places, const Vector& weights,
                 const LogisticModel& model) {
  double value = 0.5 * model.weights.squaredNorm();
  const Matrix p = test::plain_softmax((x * model.weights).rowwise() + model.biases);
  for (Index i = 0; i < x.rows(); ++i)
    value -= static_cast<double>(x.rows()) * weights[i] *
             std::log(p(i, places[static_cast<std::size_t>(i)]));
  return value;
}

TEST(Logistic, NoChangeLowersTheObjective) {
  const Problem problem = class_problem(3, 40, 10, 4, 1, 1);
  const std::vector<Index> places = test::places_in(Labels{{2, 5, 8}}, problem.source.labels);
  for (const Vector& weights :
       {Vector(Vector::Constant(40, 1.0 / 40)), test::random_weights(40, 3)}) {
    const Matrix& x = problem.source.points;
    const LogisticModel found = fit_logistic(x, places, weights, 3);
    const double best = objective(x, places, weights, found);
    for (unsigned seed = 0; seed < 20; ++seed) {
      LogisticModel other = found;
      other.weights += 1e-3 * random_matrix(4, 3, seed);
      other.biases += 1e-3 * random_matrix(1, 3, 100 + seed).row(0);
      EXPECT_GT(objective(x, places, weights, other), best) << seed;
    }
  }
}

TEST(Logistic, BiasesAreFree) {
  const Matrix x = Matrix::Zero(10, 2);
  std::vector<Index> places(10, 0);
  places[0] = places[1] = 1;
  const LogisticModel found = fit_logistic(x, places, Vector::Constant(10, 0.1), 2);
  EXPECT_NEAR(found.biases[0] - found.biases[1], std::log(4.0), 1e-3);
  EXPECT_EQ(found.weights.norm(), 0);
}

}  // namespace
}  // namespace remblai
