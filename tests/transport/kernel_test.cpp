// Every verb of a kernel against the dense matrix it stands for: double and float, stored and made.
#include "transport/kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "remblai/devices.h"
#include "support.h"

namespace remblai {
namespace {

struct Case {
  Precision precision;
  double memory;  // GiB
  double error;   // relative, of a sum
  Device device = Device::cpu;
};

void PrintTo(const Case& tested, std::ostream* out) {
  *out << name(tested.precision) << ", " << tested.memory << " GiB, " << name(tested.device);
}

class EveryKernel : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().device != Device::cpu && gpus().empty()) GTEST_SKIP() << why_no_gpu();
  }
  std::unique_ptr<Kernel> kernel() const {
    return make_kernel({.threads = 2,
                        .memory = GetParam().memory,
                        .precision = GetParam().precision,
                        .device = GetParam().device},
                       70, 50);
  }
  double error(const Matrix& truth) const {
    return GetParam().error * (1 + truth.cwiseAbs().maxCoeff());
  }

  const Matrix x = test::random_matrix(70, 6, 1), z = test::random_matrix(50, 6, 2).array() + 3;
  const GroundCost cost = GroundCost::between_points(x, z);
  const double lambda = 4;
};

TEST_P(EveryKernel, IsItsMatrix) {
  const auto k = kernel();
  k->use(cost);
  const Vector v = test::random_matrix(50, 1, 3).col(0);
  const Vector p = test::random_weights(70, 4);
  const Marginal rows = Marginal::exact(p);
  Vector u(70), a(70);
  const Vector sums = k->rescale(lambda, v, u, RowRule::meet(rows, lambda, u, a));
  Matrix truth = -std::numbers::log2e / lambda * cost.block(0, 70);
  truth.colwise() += u;
  truth.rowwise() += v.transpose();
  truth = truth.unaryExpr([](double e) { return std::exp2(e); });
  EXPECT_LE(test::difference(k->matrix(), truth), error(truth));
  EXPECT_LE((truth.rowwise().maxCoeff().array() - 1).abs().maxCoeff(), error(truth));
  EXPECT_LE(test::difference(a, p.cwiseQuotient(truth.rowwise().sum())), error(a));
  EXPECT_LE(test::difference(sums, truth.transpose() * a), error(sums));

  const Vector y = test::random_weights(50, 5), w = test::random_weights(70, 6);
  EXPECT_LE(test::difference(k->times(y), truth * y), error(truth * y));
  EXPECT_LE(test::difference(k->transpose_times(w), truth.transpose() * w), error(sums));
  EXPECT_LE(test::difference(k->times(z), truth * z), 10 * error(truth * z));
  EXPECT_LE(test::difference(k->fused(y, RowRule::weigh(w)),
                             truth.transpose() * w.cwiseProduct(truth * y)),
            error(sums));
  EXPECT_LE(test::difference(k->squares_transpose_times(w), truth.cwiseAbs2().transpose() * w),
            error(sums));
  const Vector met = k->fused(y, RowRule::meet(rows, lambda, u, a));
  EXPECT_LE(test::difference(a, p.cwiseQuotient(truth * y)), error(a));
  EXPECT_LE(test::difference(met, truth.transpose() * a), error(met));
  const Vector exponents = u - std::numbers::log2e / lambda * cost.column(7);
  // Factors that were made of those of the costs are rounded like the matrix.
  EXPECT_NEAR(k->log2_column_sum(7, u),
              std::log2(exponents.unaryExpr([](double e) { return std::exp2(e); }).sum()),
              k->has_factors() ? 1e-6 : 1e-12);
}

TEST_P(EveryKernel, BecomesThePlan) {
  const auto k = kernel();
  k->use(cost);
  const Vector f = test::random_matrix(70, 1, 3).col(0), g = test::random_matrix(50, 1, 4).col(0);
  const Kernel::Sums sums = k->fix(lambda, f, g);
  const Matrix costs = cost.block(0, 70);
  Matrix truth = -costs;
  truth.colwise() += f;
  truth.rowwise() += g.transpose();
  truth = (truth / lambda).array().exp();
  EXPECT_LE(test::difference(k->matrix(), truth), error(truth));
  EXPECT_LE(test::difference(sums.rows, truth.rowwise().sum()), error(sums.rows));
  EXPECT_LE(test::difference(sums.columns, truth.colwise().sum().transpose()), error(sums.columns));
  EXPECT_NEAR(sums.cost, truth.cwiseProduct(costs).sum(),
              10 * error(truth.cwiseProduct(costs)) * 70);
}

TEST_P(EveryKernel, KnowsItsCosts) {
  const auto k = kernel();
  const Matrix costs = cost.block(0, 70);
  const GroundCost dense = GroundCost::dense(costs);
  const Vector rows = test::random_weights(70, 5), columns = test::random_weights(50, 6);
  for (const GroundCost* given : {&cost, &dense}) {
    k->use(*given);
    EXPECT_NEAR(k->between(rows, columns), rows.dot(costs * columns), error(costs));
  }
}

TEST_P(EveryKernel, APreconditionerInvertsWhatItFactorised) {
  const auto k = kernel();
  k->use(cost);
  k->fix(lambda, Vector::Zero(70), Vector::Zero(50));
  if (GetParam().memory < 1e-3 || GetParam().device != Device::cpu) {
    EXPECT_EQ(k->most_factored(), 0);  // there is nothing stored to make it from, or no code for it
    return;
  }
  ASSERT_GE(k->most_factored(), 50);
  const Matrix plan = k->matrix();
  const Vector left = Vector::Constant(70, 0.3), right = test::random_weights(50, 3);
  const Vector null = test::random_weights(50, 4).normalized();
  const Matrix m = left.asDiagonal() * plan * right.asDiagonal();
  const Matrix truth =
      (1 + 1e-6) * Matrix::Identity(50, 50) + null * null.transpose() - m.transpose() * m;
  ASSERT_TRUE(k->factorise(left, right, null));
  const Vector y = test::random_matrix(50, 1, 5).col(0);
  EXPECT_LE(test::difference(truth * k->precondition(y), y), 1e-4);
  EXPECT_FALSE(k->factorise(1e3 * left, 1e3 * right, null));
}

// Some iterations of conjugate gradients against the dense matrix. One that was begun ahead after
// the residual was small enough changes nothing.
TEST_P(EveryKernel, GradientsAreThoseOfItsHessian) {
  const auto k = kernel();
  k->use(cost);
  k->fix(lambda, test::random_matrix(70, 1, 3).col(0), test::random_matrix(50, 1, 4).col(0));
  const Matrix plan = k->matrix();
  Hessian hessian;
  hessian.b = 1 + test::random_weights(50, 5).array();
  hessian.weights = plan.rowwise().sum().cwiseInverse();
  hessian.diagonal =
      hessian.b.cwiseProduct(plan.transpose() * hessian.weights.cwiseProduct(plan * hessian.b));
  const Matrix inner = hessian.b.asDiagonal() * plan.transpose() * hessian.weights.asDiagonal() *
                       plan * hessian.b.asDiagonal();
  hessian.singular = true;
  const Matrix h = Matrix(hessian.diagonal.asDiagonal()) - inner;
  const Vector start = test::random_matrix(50, 1, 6).col(0);
  Vector first = test::random_matrix(50, 1, 7).col(0);
  first.array() -= first.mean();
  const double digits = std::max(GetParam().error, 2e-6);
  const Vector jacobi = h.diagonal().cwiseMax(1e-6 * hessian.diagonal);
  for (const int steps : {1, 2, 3, 4}) {
    Vector r = first, eased = r.cwiseQuotient(jacobi), d = eased, reached = start;
    std::vector<double> norms = {r.lpNorm<1>()};
    for (int step = 0; step < steps; ++step) {
      const double product = r.dot(eased), length = product / d.dot(h * d);
      reached += length * d;
      r -= length * (h * d);
      norms.push_back(r.lpNorm<1>());
      eased = r.cwiseQuotient(jacobi);
      d = eased + r.dot(eased) / product * d;
    }
    const double enough = 1.01 * norms.back();
    const auto vectors = k->gradients(hessian, start, first, nullptr);
    EXPECT_NEAR(vectors->begin(enough), norms[0], 50 * digits * norms[0]);
    for (int step = 1; step <= steps; ++step) {
      const std::optional<double> norm = vectors->step(true);
      ASSERT_TRUE(norm);
      EXPECT_NEAR(*norm, norms[step], 50 * digits * norms[0]) << step << " of " << steps;
    }
    Vector found, residual;
    vectors->take(found, residual);
    EXPECT_LE(test::difference(found, reached), 1e3 * digits * (1 + reached.cwiseAbs().maxCoeff()));
    EXPECT_LE(test::difference(residual, r), 1e3 * digits);
  }
}

// One look after another, and two under way at a time: factors and sums belong together, and they
// are those of the iteration whatever kernel makes it.
TEST_P(EveryKernel, IterationsMeetColumnsAndRowsInTurn) {
  const auto k = kernel();
  k->use(cost);
  const Vector p = test::random_weights(70, 4), q = test::random_weights(50, 5);
  const Marginal rows = Marginal::exact(p);
  Vector u(70), a(70);
  const Vector first = k->rescale(lambda, Vector::Zero(50), u, RowRule::meet(rows, lambda, u, a));
  const Matrix matrix = k->matrix();
  for (const bool more : {false, true}) {
    const auto iterations = k->iterations(p, q, first);
    const bool keeps_vectors = GetParam().device != Device::cpu && GetParam().memory > 1e-3;
    ASSERT_EQ(iterations != nullptr, keeps_vectors);
    if (!iterations) return;
    k->reset_counts();
    Vector b, sums = first;
    for (int step = 0; step < 5; ++step) {
      const Iterations::Seen seen = iterations->step(more);
      EXPECT_TRUE(seen.in_range);
      b = q.cwiseQuotient(sums);
      a = p.cwiseQuotient(matrix * b);
      sums = matrix.transpose() * a;
      EXPECT_NEAR(seen.error, (b.cwiseProduct(sums) - q).lpNorm<1>(), 10 * GetParam().error);
    }
    const int made = k->counts().fused;
    EXPECT_EQ(made, more ? 6 : 5);
    if (more) {
      b = q.cwiseQuotient(sums);
      a = p.cwiseQuotient(matrix * b);
      sums = matrix.transpose() * a;
    }
    Vector found_a, found_b, found_sums;
    iterations->take(found_a, found_b, found_sums);
    const double allowed = 20 * GetParam().error;
    EXPECT_LE(test::difference(found_a, a), allowed * a.maxCoeff());
    EXPECT_LE(test::difference(found_b, b), allowed * b.maxCoeff());
    EXPECT_LE(test::difference(found_sums, sums), allowed * sums.maxCoeff());
  }
}

// Factors that no iteration may go on with are told.
TEST_P(EveryKernel, IterationsSeeWhatIsOutOfRange) {
  const auto k = kernel();
  k->use(cost);
  const Vector p = test::random_weights(70, 4), q = test::random_weights(50, 5);
  const Marginal rows = Marginal::exact(p);
  Vector u(70), a(70);
  Vector sums = k->rescale(lambda, Vector::Zero(50), u, RowRule::meet(rows, lambda, u, a));
  const auto in_range = [&](double factor) {
    Vector changed = sums;
    changed[7] *= factor;
    const auto iterations = k->iterations(p, q, changed);
    return !iterations || iterations->step(false).in_range;
  };
  const double far = std::exp2(k->safe_log2() + 20);
  EXPECT_TRUE(in_range(1));
  if (!k->iterations(p, q, sums)) return;
  EXPECT_FALSE(in_range(far));
  EXPECT_FALSE(in_range(1 / far));
  EXPECT_FALSE(in_range(std::numeric_limits<double>::quiet_NaN()));
}

// Long passes ask whether to go on; stored ones are over before anybody would wait.
TEST_P(EveryKernel, LongPassesCanBeStopped) {
  const auto k = kernel();
  k->use(cost);
  k->fix(lambda, Vector::Zero(70), Vector::Zero(50));
  const Vector ones = Vector::Ones(50);
  EXPECT_EQ(k->long_passes(), GetParam().memory < 1e-3);
  k->watch([] { return false; });
  if (k->long_passes())
    EXPECT_THROW(k->times(ones), Interrupted);
  else
    EXPECT_NO_THROW(k->times(ones));
  k->watch({});
  EXPECT_LE(test::difference(k->times(ones), k->matrix() * ones), 1e-3);
}

// Where every exponent but one is far below 0, K is 0 and 1, to the digits that exponents have.
TEST_P(EveryKernel, NoRangeIsTooWide) {
  const auto k = kernel();
  k->use(cost);
  const Marginal rows = Marginal::exact(test::random_weights(70, 4));
  for (const double ratio : {1e6, 1e9, 1e12}) {
    const double digits = 1e-6 + 1e-14 * ratio;
    const double small = cost.range() / ratio;
    Vector u(70), a(70);
    k->rescale(small, Vector::Zero(50), u, RowRule::meet(rows, small, u, a));
    const Matrix found = k->matrix();
    const Matrix costs = cost.block(0, 70);
    for (Index i = 0; i < 70; ++i) {
      Index nearest = 0;
      costs.row(i).minCoeff(&nearest);
      EXPECT_NEAR(found(i, nearest), 1, digits) << ratio;
      EXPECT_NEAR(found.row(i).sum(), 1, digits) << ratio;
    }
    EXPECT_TRUE(a.allFinite() && u.allFinite()) << ratio;
  }
}

// Sizes may change from one cost to the next, and so may what is stored.
TEST_P(EveryKernel, TakesOneCostAfterAnother) {
  const auto k = kernel();
  const auto check = [&](const GroundCost& next) {
    k->use(next);
    const Vector f = Vector::Zero(next.rows()), g = Vector::Zero(next.columns());
    k->fix(lambda, f, g);
    const Matrix truth = (next.block(0, next.rows()) / -lambda).array().exp();
    EXPECT_LE(test::difference(k->matrix(), truth), error(truth));
  };
  check(cost);
  const GroundCost small = GroundCost::between_points(x.topRows(5), z.topRows(3));
  check(small);
  const GroundCost dense = GroundCost::dense(test::random_matrix(9, 70, 8));
  check(dense);
  GroundCost with_classes = GroundCost::between_points(x, z);
  with_classes.add_terms(test::random_matrix(70, 3, 5), test::random_matrix(50, 3, 6));
  check(with_classes);
  check(cost);
}

INSTANTIATE_TEST_SUITE_P(Kernel, EveryKernel,
                         testing::Values(Case{Precision::float64, 1, 1e-13},
                                         Case{Precision::float64, 1e-9, 1e-13},
                                         Case{Precision::float32, 1, 2e-6},
                                         Case{Precision::float32, 1e-9, 2e-6},
                                         Case{Precision::float64, 1, 1e-13, Device::cuda},
                                         Case{Precision::float64, 1e-9, 1e-13, Device::cuda},
                                         Case{Precision::float32, 1, 2e-6, Device::cuda},
                                         Case{Precision::float32, 1e-9, 2e-6, Device::cuda}),
                         [](const auto& tested) {
                           const Case& c = tested.param;
                           return std::string(name(c.precision)) +
                                  (c.memory < 1e-3 ? "Made" : "Stored") +
                                  (c.device == Device::cpu ? "" : "OnGpu");
                         });

}  // namespace
}  // namespace remblai
