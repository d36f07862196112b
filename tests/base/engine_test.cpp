// What goes to an engine comes back as the processor would have made it.
#include "base/engine.h"

#include <gtest/gtest.h>

#include <Eigen/LU>

#include <cmath>
#include <thread>

#include "base/linalg.h"
#include "fit/class_test_tools.h"
#include "fit/kernel_ridge.h"
#include "fit/metric_step.h"
#include "remblai/fit.h"
#include "support.h"

namespace remblai {
namespace {

using linalg::Op;
using linalg::Operand;

Matrix value_of(const Operand& a) {
  const Eigen::Map<const Matrix> matrix(a.data, a.rows, a.columns);
  return a.transposed ? Matrix(matrix.transpose()) : Matrix(matrix);
}

// Makes everything by itself, and counts.
class PatientEngine final : public linalg::Engine {
 public:
  bool worth(double, double) const override { return true; }
  bool multiply(const Operand& a, const Operand& b, double alpha, double* c) override {
    ++products;
    const Matrix product = alpha * value_of(a) * value_of(b);
    Eigen::Map<Matrix>(c, product.rows(), product.cols()) = fails ? 2 * product : product;
    return !fails;
  }
  void start_sum(Index rows, Index columns) override { sum_ = Matrix::Zero(rows, columns); }
  void add_to_sum(const Operand& a, const Operand& b) override {
    ++products;
    sum_ += value_of(a).transpose() * value_of(b);
  }
  bool fetch_sum(double* c) override {
    Eigen::Map<Matrix>(c, sum_.rows(), sum_.cols()) = fails ? 2 * sum_ : sum_;
    return !fails;
  }
  bool inverse_fourth_root(Index order, const double* m, double least, double* root,
                           double& trace) override {
    ++roots;
    const linalg::Spectrum s = linalg::eigh(Eigen::Map<const Matrix>(m, order, order));
    EXPECT_GE(s.values[0], 0.999999 * least);
    Eigen::Map<Matrix>(root, order, order) =
        s.vectors * s.values.array().pow(-0.25).matrix().asDiagonal() * s.vectors.transpose();
    trace = s.values.cwiseSqrt().sum();
    return true;
  }

  bool ridge(const linalg::RidgeTask& task, linalg::RidgeFit& fit) override {
    ++regressions;
    const Index n = task.points.rows();
    if (task.landmarks.rows() > 0) return false;
    Matrix system = test::plain_kernel(task.points, task.points, task.width);
    system.diagonal() += task.smoothing * task.weights.cwiseInverse();
    const Matrix inverse = system.inverse();
    fit.coefficients = inverse * task.targets;
    fit.left_out =
        (task.targets - inverse.diagonal().cwiseInverse().asDiagonal() * fit.coefficients)
            .bottomRows(task.judged);
    EXPECT_EQ(fit.coefficients.rows(), n);
    return !fails;
  }

  int products = 0, roots = 0, regressions = 0;
  bool fails = false;

 private:
  Matrix sum_;
};

class EngineOf : public testing::TestWithParam<bool> {};

// Also where the engine spoils C and then says that it failed.
TEST_P(EngineOf, ProductsAreWhatTheyWere) {
  const auto engine = std::make_shared<PatientEngine>();
  engine->fails = GetParam();
  const linalg::OnEngine scope(engine);
  const Matrix a = test::random_matrix(7, 5, 1), b = test::random_matrix(5, 6, 2);
  const Matrix tall = test::random_matrix(7, 3, 3);
  const auto expect = [](const Matrix& found, const Matrix& wanted) {
    EXPECT_LE((found - wanted).norm(), 1e-13 * wanted.norm());
  };
  expect(linalg::multiply(a, b), a * b);
  expect(linalg::multiply(a, tall, Op::transpose), a.transpose() * tall);
  expect(linalg::multiply(a, b.transpose(), Op::none, Op::transpose), a * b);
  Matrix c = Matrix::Ones(7, 6);
  linalg::gemm(Op::none, a, Op::none, b, 2, 3, c);
  expect(c, 2 * a * b + 3 * Matrix::Ones(7, 6));
  Matrix rows(2, 7);
  linalg::rows_times_transpose(a, 3, a, -2, rows);
  expect(rows, -2 * a.middleRows(3, 2) * a.transpose());
  expect(linalg::gram(a), a.transpose() * a);
  expect(linalg::gram_of_rows(a), a * a.transpose());
  const auto fill = [&](Rows some, Eigen::Ref<Matrix> to) {
    to = tall.middleRows(some.begin, some.end - some.begin);
  };
  expect(linalg::gram_of_made(7, 3, fill), tall.transpose() * tall);
  expect(linalg::transpose_times_made(a, 3, fill), a.transpose() * tall);
  const Matrix spd = test::random_spd(5, 10, 4);
  Matrix lower;
  ASSERT_TRUE(linalg::cholesky(spd, lower));
  expect(linalg::times_transposed_lower(a, lower), a * lower.transpose());
  const Matrix congruent = linalg::congruence(lower, spd);
  const Matrix wanted = lower.transpose() * spd * lower;
  expect(congruent.triangularView<Eigen::Lower>(), wanted.triangularView<Eigen::Lower>());
  EXPECT_GE(engine->products, GetParam() ? 8 : 10);
}
// Landmarks are what this engine does not know.
TEST_P(EngineOf, KernelRegressionsAreWhatTheyWere) {
  const Matrix points = test::random_matrix(40, 3, 1), targets = test::random_matrix(40, 2, 2);
  const Vector weights = 40 * test::random_weights(40, 3);
  for (const Index landmarks : {40, 15}) {
    const auto fit = [&] {
      KernelRidge ridge(points, landmarks);
      ridge.set_width(4);
      return ridge.fit(targets, weights, 0.1, 25);
    };
    const KernelFit wanted = fit();
    const auto engine = std::make_shared<PatientEngine>();
    engine->fails = GetParam();
    const linalg::OnEngine scope(engine);
    const KernelFit found = fit();
    EXPECT_LT(test::difference(found.coefficients, wanted.coefficients), 1e-8);
    EXPECT_LT(test::difference(found.left_out, wanted.left_out), 1e-8);
    EXPECT_NEAR(found.missed, wanted.missed, 1e-12);
    EXPECT_EQ(engine->regressions, 1);
  }
}
INSTANTIATE_TEST_SUITE_P(Engine, EngineOf, testing::Bool());

TEST(Engine, BelongsToItsThreadAndItsScope) {
  const auto engine = std::make_shared<PatientEngine>();
  {
    const linalg::OnEngine scope(engine);
    EXPECT_EQ(linalg::current_engine(), engine.get());
    {
      const linalg::OnEngine inner(std::make_shared<PatientEngine>());
      EXPECT_EQ(linalg::current_engine(), engine.get());
    }
    EXPECT_EQ(linalg::current_engine(), engine.get());
    std::thread([] { EXPECT_EQ(linalg::current_engine(), nullptr); }).join();
    // Pieces are the processor's, whoever takes them.
    run_pieces(3, 1, [](Index) { EXPECT_EQ(linalg::current_engine(), nullptr); });
    run_pieces(3, 4, [](Index) { EXPECT_EQ(linalg::current_engine(), nullptr); });
    EXPECT_EQ(linalg::current_engine(), engine.get());
  }
  EXPECT_EQ(linalg::current_engine(), nullptr);
  EXPECT_EQ(engine.use_count(), 1);
}

MetricStep step_with(const Matrix& prior, double ridge) {
  SpanMatrix reference;
  if (prior.size() > 0) {
    reference.inside = prior;
    linalg::cholesky(prior, reference.lower);
  }
  return {30, 30, reference, {{}, ridge}, 0.5};
}

TEST(Engine, TheMetricStepFromProductsIsThatFromTheDecomposition) {
  const Matrix c = test::random_spd(30, 1e4, 1), other = test::random_spd(30, 1e3, 2);
  for (const Matrix& prior : {Matrix(), test::random_spd(30, 1e2, 3)}) {
    const MetricStep plain = step_with(prior, 0.1);
    const auto engine = std::make_shared<PatientEngine>();
    const linalg::OnEngine scope(engine);
    const MetricStep step = step_with(prior, 0.1);
    const LearnedMetric a = step(c), b = step(other);
    EXPECT_EQ(engine->roots, 2);
    LearnedMetric same, then;
    {
      const linalg::OffEngine processor;
      same = plain(c);
      then = plain(other);
    }
    const Matrix metric = linalg::gram(a.factor), wanted = linalg::gram(same.factor);
    EXPECT_LE((metric - wanted).norm(), 1e-11 * wanted.norm());
    EXPECT_NEAR(a.prior_term, same.prior_term, 1e-11 * same.prior_term);
    EXPECT_NEAR(a.ridge_term, same.ridge_term, 1e-11 * same.ridge_term);
    EXPECT_LE(step.residual(a, c), 1e-10);
    EXPECT_NEAR(step.condition(a), plain.condition(same), 1e-8 * plain.condition(same));
    const double distance = plain.distance(same, then);
    for (const LearnedMetric& from : {a, same})
      for (const LearnedMetric& to : {b, then})
        EXPECT_NEAR(step.distance(from, to), distance, 1e-9 * distance);
    EXPECT_NEAR(step.distance(a, a), 0, 1e-9);
  }
}

// A whole fit with an engine that takes everything.
TEST(Engine, AFitIsTheSame) {
  Problem problem;
  problem.source = {test::random_matrix(60, 8, 1), Labels(60), {}};
  for (Index i = 0; i < 60; ++i) {
    problem.source.labels[i] = i % 3;
    problem.source.points.row(i).array() += 2.0 * static_cast<double>(i % 3);
  }
  problem.target.points = problem.source.points.topRows(50).array() + 0.3;
  for (const Method method : {Method::paper, Method::class_aware}) {
    Options options{.method = method};
    options.resources.threads = 1;
    const Model plain = fit(problem, options);
    const auto engine = std::make_shared<PatientEngine>();
    const linalg::OnEngine scope(engine);
    const Model other = fit(problem, options);
    EXPECT_GT(engine->roots, 1);
    const Matrix wanted = plain.metric.matrix();
    EXPECT_LE((other.metric.matrix() - wanted).norm(), 1e-6 * wanted.norm());
    EXPECT_EQ(plain.history.size(), other.history.size());
    EXPECT_NEAR(other.history.back().objective, plain.history.back().objective,
                1e-7 * std::abs(plain.history.back().objective));
  }
}

}  // namespace
}  // namespace remblai
