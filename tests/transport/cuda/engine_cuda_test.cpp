// Dense linear algebra on a GPU beside that of the processor. Skipped without a GPU.
#include <gtest/gtest.h>

#include <thread>

#include "fit/kernel_ridge.h"
#include "fit/metric_step.h"
#include "model/gaussian.h"
#include "remblai/devices.h"
#include "remblai/fit.h"
#include "remblai/predict.h"
#include "support.h"
#include "transport/engine.h"

namespace remblai {
namespace {

using linalg::Op;

class EngineOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << why_no_gpu();
  }
  linalg::Threads threads_{1};
};

void expect_equal(const Matrix& found, const Matrix& wanted) {
  EXPECT_LE((found - wanted).norm(), 1e-13 * wanted.norm());
}

// The last ones are longer than what is there at a time.
TEST_F(EngineOnGpu, ProductsAreThoseOfTheProcessor) {
  struct Size {
    Index m, n, k;
  };
  for (const auto [m, n, k] : {Size{500, 577, 400},
                               {1000, 300, 700},
                               {30000, 320, 333},
                               {320, 333, 30000},
                               {2000, 20000, 64}}) {
    const Matrix a = test::random_matrix(m, k, 1), b = test::random_matrix(k, n, 2);
    const Matrix ta = a.transpose(), tb = b.transpose();
    const auto fill = [&](Rows some, Eigen::Ref<Matrix> to) {
      to = b.middleRows(some.begin, some.end - some.begin);
    };
    const Matrix wanted = linalg::multiply(a, b);
    const Matrix gram = linalg::gram(b);
    Matrix more = Matrix::Ones(m, n);
    linalg::gemm(Op::none, a, Op::none, b, 2, 3, more);
    Matrix rows(m - 100, n);
    linalg::rows_times_transpose(a, 100, tb, -2, rows);

    const linalg::OnEngine scope(make_engine({.device = Device::cuda}, m, n));
    ASSERT_TRUE(linalg::current_engine()->worth(static_cast<double>(m * n * k),
                                                static_cast<double>(m * n + n * k + m * k)));
    expect_equal(linalg::multiply(a, b), wanted);
    expect_equal(linalg::multiply(ta, b, Op::transpose), wanted);
    expect_equal(linalg::multiply(a, tb, Op::none, Op::transpose), wanted);
    expect_equal(linalg::multiply(ta, tb, Op::transpose, Op::transpose), wanted);
    expect_equal(linalg::transpose_times_made(ta, n, fill), wanted);
    expect_equal(linalg::gram(b), gram);
    expect_equal(linalg::gram_of_rows(tb), gram);
    expect_equal(linalg::gram_of_made(k, n, fill), gram);
    Matrix here = Matrix::Ones(m, n);
    linalg::gemm(Op::none, a, Op::none, b, 2, 3, here);
    expect_equal(here, more);
    Matrix there(m - 100, n);
    linalg::rows_times_transpose(a, 100, tb, -2, there);
    expect_equal(there, rows);
  }
}

MetricStep step_with(const Matrix& prior, Index order, double ridge) {
  SpanMatrix reference;
  if (prior.size() > 0) {
    reference.inside = prior;
    linalg::cholesky(prior, reference.lower);
  }
  return {order, order, reference, {{}, ridge}, 0.5};
}

TEST_F(EngineOnGpu, TheMetricStepSolvesItsEquation) {
  for (const Index order : {200, 577})
    for (const double ridge : {1e-1, 1e-4, 1e-7}) {
      const Matrix c = test::random_spd(order, 1e12, 1), other = test::random_spd(order, 1e2, 2);
      for (const Matrix& prior : {Matrix(), test::random_spd(order, 1e2, 3)}) {
        const MetricStep plain = step_with(prior, order, ridge);
        const LearnedMetric wanted = plain(c), then = plain(other);
        const linalg::OnEngine scope(make_engine({.device = Device::cuda}, 0, 0));
        const MetricStep step = step_with(prior, order, ridge);
        const LearnedMetric a = step(c), b = step(other);
        ASSERT_TRUE(a.ok && wanted.ok);
        EXPECT_EQ(a.mu.size(), 0) << "it was not made from products";
        const double digits = 1e-14 / ridge * (prior.size() > 0 ? 100 : 1) + 1e-12;
        EXPECT_LE(step.residual(a, c), digits * 10);
        EXPECT_LE(step.residual(a, c), 10 * plain.residual(wanted, c) + 1e-12);
        const Matrix metric = linalg::gram(wanted.factor);
        EXPECT_LE((linalg::gram(a.factor) - metric).norm(), 10 * digits * metric.norm());
        EXPECT_NEAR(a.prior_term, wanted.prior_term, 10 * digits * wanted.prior_term);
        EXPECT_NEAR(step.distance(a, b), plain.distance(wanted, then), 1e-5);
      }
    }
}

TEST_F(EngineOnGpu, ASingularMomentIsRefused) {
  Matrix c = Matrix::Zero(300, 300);
  c(0, 0) = 1;
  const linalg::OnEngine scope(make_engine({.device = Device::cuda}, 0, 0));
  EXPECT_FALSE(step_with({}, 300, 0)(c).ok);
  EXPECT_TRUE(step_with({}, 300, 1e-3)(c).ok);
  c(5, 5) = test::nan;
  EXPECT_FALSE(step_with({}, 300, 1e-3)(c).ok);
  // Not as large as the ridge says: eigenvalues where there should be none.
  c(5, 5) = -1;
  EXPECT_FALSE(step_with({}, 300, 1e-3)(c).ok);
}

// Several at a time, in streams of their own, and one alone.
TEST_F(EngineOnGpu, TheSameBitsWhateverOthersDo) {
  const Matrix a = test::random_matrix(700, 577, 1), c = test::random_spd(577, 1e5, 2);
  const auto results = [&] {
    const linalg::OnEngine scope(make_engine({.device = Device::cuda}, 0, 0));
    const MetricStep step = step_with({}, 577, 1e-3);
    Matrix both(577 + 700, 577);
    for (int k = 0; k < 5; ++k) {
      const LearnedMetric metric = step(c);
      both << metric.factor, linalg::multiply(a, metric.factor);
    }
    return both;
  };
  const Matrix alone = results();
  std::vector<Matrix> together(4);
  {
    std::vector<std::jthread> threads;
    for (Matrix& one : together) threads.emplace_back([&] { one = results(); });
  }
  for (const Matrix& one : together) EXPECT_EQ(one, alone);
  EXPECT_EQ(results(), alone);
}

// Exact systems and landmarks, in one block of factors and in many, of one block of rows and of
// more. What is compared are values, for coefficients may differ where the kernel is near singular.
TEST_F(EngineOnGpu, KernelRegressionsAreThoseOfTheProcessor) {
  for (const auto& [n, landmarks] : {std::pair<Index, Index>{640, 640}, {1001, 1001}, {9000, 333}})
    for (const Index judged : {n, n / 3, Index{0}}) {
      SCOPED_TRACE(testing::Message() << n << " " << landmarks << " " << judged);
      const Matrix points = test::random_matrix(n, 40, 1).array() + 5;
      const Matrix targets = test::random_matrix(n, 4, 2);
      const Vector weights = static_cast<double>(n) * test::random_weights(n, 3);
      KernelRidge here(points, landmarks);
      here.set_width(100);
      const KernelFit wanted = here.fit(targets, weights, 0.1, judged);

      const linalg::OnEngine scope(make_engine({.device = Device::cuda}, n, n));
      KernelRidge there(points, landmarks);
      there.set_width(100);
      int asked = 0;
      const auto goes_on = [&] { return ++asked > 0; };
      const KernelFit found = there.fit(targets, weights, 0.1, judged, goes_on);
      EXPECT_EQ(found.left_out.rows(), judged);
      KernelFit direct;
      const Matrix none, support = landmarks < n ? there.support() : none;
      const std::function<bool()> always;
      ASSERT_TRUE(linalg::current_engine()->ridge(
          {points, support, 100, 0.1, 1e-10, targets, weights, judged, always}, direct));
      EXPECT_EQ(direct.coefficients, found.coefficients) << "it was not made there";
      EXPECT_LT((found.left_out - wanted.left_out).norm(), 1e-9 * targets.norm());
      EXPECT_NEAR(found.missed, wanted.missed, 1e-10);
      Matrix kernel = squared_distances(points.topRows(500), here.support());
      gaussian(kernel, 100);
      EXPECT_LT((kernel * (found.coefficients - wanted.coefficients)).norm(),
                1e-8 * targets.norm());
      EXPECT_GT(asked, 0);
      const KernelFit again = there.fit(targets, weights, 0.1, judged);
      EXPECT_EQ(again.coefficients, found.coefficients);
      EXPECT_EQ(again.left_out, found.left_out);
      asked = landmarks < n ? 0 : 1;  // an exact system is not left once it has begun
      const KernelFit left = there.fit(targets, weights, 0.1, judged, [&] { return asked++ == 0; });
      EXPECT_EQ(left.coefficients.size(), 0);
    }
}

// Negative weights make it so.
TEST_F(EngineOnGpu, ASystemThatIsNotDefiniteHasNoSolution) {
  const Matrix points = test::random_matrix(700, 40, 1);
  const linalg::OnEngine scope(make_engine({.device = Device::cuda}, 700, 700));
  for (const Index landmarks : {700, 650}) {
    KernelRidge ridge(points, landmarks);
    ridge.set_width(100);
    const Vector weights = Vector::Constant(700, -0.01);
    EXPECT_EQ(ridge.fit(points.leftCols(2), weights, 0.1, 10).coefficients.size(), 0);
  }
}

TEST_F(EngineOnGpu, AFitIsThatOfTheProcessor) {
  constexpr Index m = 400, n = 380, d = 300;
  Problem problem;
  problem.source = {test::random_matrix(m, d, 1), Labels(m), {}};
  for (Index i = 0; i < m; ++i) {
    problem.source.labels[i] = i % 4;
    problem.source.points(i, i % 4) += 8;
  }
  problem.target.points = 1.1 * problem.source.points.topRows(n).array() + 0.3;
  for (const Method method : {Method::paper, Method::class_aware}) {
    Options options{.method = method};
    options.resources.threads = 1;
    options.resources.device = Device::cpu;
    const Model plain = fit(problem, options);
    const Labels labels = predict(plain, problem.target.points);
    options.resources.device = Device::cuda;
    const Model there = fit(problem, options);
    const Matrix wanted = plain.metric.matrix();
    EXPECT_LE((there.metric.matrix() - wanted).norm(), 1e-4 * wanted.norm());
    EXPECT_EQ(plain.history.size(), there.history.size());
    EXPECT_EQ(predict(there, problem.target.points), labels);
  }
}

}  // namespace
}  // namespace remblai
