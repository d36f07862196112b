// The whole method: descent, oracles, degenerate problems and every way to end.
#include "remblai/fit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <numeric>

#include "base/linalg.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "remblai/sample.h"
#include "remblai/spd.h"
#include "support.h"

namespace remblai {
namespace {

Matrix moment(const Matrix& plan, const Matrix& x, const Matrix& z) {
  Matrix c = Matrix::Zero(x.cols(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < z.rows(); ++j) {
      const Vector v = (x.row(i) - z.row(j)).transpose();
      c += plan(i, j) * v * v.transpose();
    }
  return c;
}

TEST(Fit, AgreesWithAPlainLoopOfSciPyAndPot) {
  const auto fixture = [](const std::string& name) {
    return io::read_points(REMBLAI_TEST_DATA "/fit_" + name + ".npy");
  };
  Problem problem;
  problem.source.points = fixture("source");
  problem.target.points = fixture("target");
  for (const PriorChoice prior : {PriorChoice::identity, PriorChoice::w, PriorChoice::w_inverse}) {
    const Model model = fit(problem, {.prior = prior,
                                      .prior_ridge = 0.01,
                                      .lambda = 0.1,
                                      .ridge = 0.1,
                                      .steps = 6,
                                      .tolerance = 1e-12,
                                      .outer_tolerance = 0,
                                      .inner = InnerTolerance::tight,
                                      .acceleration = Acceleration::none});
    const std::string key(name(prior));
    const Matrix metric = fixture(key + "_metric");
    EXPECT_LE((model.metric.matrix() - metric).norm(), 1e-8 * metric.norm()) << key;
    EXPECT_LE((plan(model) - fixture(key + "_plan")).lpNorm<1>(), 1e-8) << key;
    EXPECT_EQ(model.status.outcome, Outcome::iteration_limit);
  }
}

TEST(Fit, TheMetricSolvesItsEquationWithThePlanBeforeIt) {
  const Problem problem = test::small_problem();
  Options options{.steps = 4,
                  .outer_tolerance = 0,
                  .inner = InnerTolerance::tight,
                  .acceleration = Acceleration::none};
  const Model before = fit(problem, options);
  options.steps = 5;
  const Model after = fit(problem, options);
  Matrix c = moment(plan(before), problem.source.points, problem.target.points);
  c.diagonal().array() += after.ridge;
  const Matrix a = after.metric.matrix();
  EXPECT_LE((a * c * a - Matrix::Identity(a.rows(), a.cols())).norm(), 1e-7);
  EXPECT_LE(after.history.back().riccati_residual, 1e-10);

  c = moment(plan(after), problem.source.points, problem.target.points);
  c.diagonal().array() += after.ridge;
  const Matrix identity = Matrix::Identity(a.rows(), a.cols());
  EXPECT_NEAR(after.fixed_point_residual, (a * c * a - identity).norm() / identity.norm(), 1e-9);
  EXPECT_LE(fit(problem, {.outer_tolerance = 1e-8}).fixed_point_residual, 1e-6);
}

TEST(Fit, TheHistoryIsWhatPlanAndMetricSay) {
  const Problem problem = test::small_problem();
  for (const PriorChoice choice : {PriorChoice::identity, PriorChoice::w, PriorChoice::w_inverse}) {
    const Model model = fit(problem, {.prior = choice, .prior_ridge = 0.1});
    const Step& last = model.history.back();
    const Matrix g = plan(model), a = model.metric.matrix();
    const Matrix& x = problem.source.points;
    const Matrix& z = problem.target.points;
    const Index d = x.cols();
    Matrix prior = x.transpose() * x + z.transpose() * z;
    prior += 0.1 * prior.trace() / static_cast<double>(d) * Matrix::Identity(d, d);
    if (choice == PriorChoice::w_inverse) prior = spd::inverse(prior);
    if (choice == PriorChoice::identity) prior = Matrix::Identity(d, d);
    const double cost = (a * moment(g, x, z)).trace();
    const double entropy = -g.unaryExpr([](double v) { return v > 0 ? v * std::log(v) : 0; }).sum();
    const double prior_term = (spd::inverse(a) * prior).trace();
    EXPECT_NEAR(last.transport_cost, cost, 1e-9 * cost);
    EXPECT_NEAR(last.entropy, entropy, 1e-9 * entropy);
    EXPECT_NEAR(last.prior_term, prior_term, 1e-9 * prior_term);
    EXPECT_NEAR(last.ridge_term, model.ridge * a.trace(), 1e-9 * last.ridge_term);
    EXPECT_NEAR(last.objective,
                cost + prior_term + model.ridge * a.trace() - model.lambda * entropy,
                1e-9 * std::abs(last.objective));
    EXPECT_NEAR(last.source_error, (g.rowwise().sum().array() - 1.0 / 30).abs().sum(), 1e-12);
    EXPECT_NEAR(last.target_error, (g.colwise().sum().array() - 1.0 / 40).abs().sum(), 1e-12);
  }
}

TEST(Fit, TheObjectiveNeverRises) {
  for (const PriorChoice prior : {PriorChoice::identity, PriorChoice::w, PriorChoice::w_inverse})
    for (const double lambda : {0.02, 0.1, 1.0}) {
      const Model model = fit(test::small_problem(), {.prior = prior,
                                                      .lambda = lambda,
                                                      .steps = 25,
                                                      .tolerance = 1e-10,
                                                      .outer_tolerance = 0,
                                                      .inner = InnerTolerance::tight});
      ASSERT_EQ(model.history.size(), 25u);
      for (std::size_t k = 1; k < model.history.size(); ++k)
        EXPECT_LE(model.history[k].objective,
                  model.history[k - 1].objective + 1e-9 * std::abs(model.history[k].objective))
            << name(prior) << " " << lambda << " step " << k;
    }
}

TEST(Fit, ALambdaThatCannotBeHeldIsRefused) {
  Problem problem = test::small_problem();
  problem.source.points *= 1e-70;
  problem.target.points *= 1e-70;
  EXPECT_THROW(fit(problem, {.metric = MetricChoice::w, .lambda = 1e-60}), Error);
  EXPECT_THROW(fit(problem, {.lambda = 1e-310, .lambda_unit = Unit::absolute}), Error);
}

TEST(Fit, PermutingPointsPermutesTheAnswer) {
  const Problem problem = test::small_problem();
  std::vector<Index> order(30);
  std::iota(order.begin(), order.end(), Index{0});
  std::reverse(order.begin(), order.end());
  std::swap(order[3], order[17]);
  Problem permuted = problem;
  permuted.source.points = problem.source.points(order, Eigen::all);
  permuted.source.labels = problem.source.labels(order);
  const Matrix g = plan(fit(problem)), h = plan(fit(permuted));
  EXPECT_LE((g(order, Eigen::all) - h).lpNorm<1>(), 1e-8);
}

TEST(Fit, ThreadsDoNotChangeTheAnswer) {
  const Problem problem = test::small_problem(380, 300, 12);  // large enough to be shared out
  const Model one = fit(problem, {.resources = {.threads = 1}});
  for (const int threads : {2, 5}) {
    const Model more = fit(problem, {.resources = {.threads = threads}});
    EXPECT_LE((one.f - more.f).norm(), 1e-10 * one.f.norm());
    EXPECT_LE((one.metric.matrix() - more.metric.matrix()).norm(),
              1e-10 * one.metric.matrix().norm());
    EXPECT_TRUE(predict(one, problem.target.points) == predict(more, problem.target.points));
  }
}

TEST(Fit, SmallAndDegenerateProblemsEndWell) {
  const auto ends_well = [](const Problem& problem, const Options& options) {
    const Model model = fit(problem, options);
    EXPECT_TRUE(model.status.converged()) << model.status.reason();
    EXPECT_TRUE(map(model).allFinite());
    EXPECT_TRUE(model.metric.matrix().allFinite());
    const Vector p = problem.source.probabilities();
    EXPECT_LE((plan(model).rowwise().sum() - p).lpNorm<1>(), 1e-6);
  };
  for (const double lambda : {0.05, 0.0}) {
    const Options options{.lambda = lambda};
    for (const auto& [m, n, d] : {std::tuple<Index, Index, Index>{1, 1, 1},
                                  {1, 1, 5},
                                  {1, 9, 3},
                                  {9, 1, 3},
                                  {2, 3, 100},
                                  {20, 10, 1}}) {
      SCOPED_TRACE(testing::Message() << m << " " << n << " " << d << " lambda " << lambda);
      ends_well(
          {{test::random_matrix(m, d, 1), {}, {}}, {test::random_matrix(n, d, 2), {}, {}}, {}},
          options);
    }
    const Matrix same = Matrix::Constant(4, 3, 2.5);
    ends_well({{same, {}, {}}, {same, {}, {}}, {}}, options);  // one point
    const Matrix x = test::random_matrix(12, 4, 3);
    ends_well({{x, {}, {}}, {x, {}, {}}, {}}, options);                           // equal domains
    ends_well({{x, {}, test::random_weights(12, 1)}, {x, {}, {}}, {}}, options);  // weights
  }
}

TEST(Fit, FixedMetricsTakeOneStepAndNoPrior) {
  const Problem problem = test::small_problem();
  const Matrix own = test::random_spd(5, 10, 1);
  for (const MetricChoice choice :
       {MetricChoice::identity, MetricChoice::w, MetricChoice::w_inverse, MetricChoice::given}) {
    Options options{.metric = choice};
    if (choice == MetricChoice::given) options.metric = own;
    const Model model = fit(problem, options);
    EXPECT_TRUE(model.status.converged());
    ASSERT_EQ(model.history.size(), 1u);
    EXPECT_EQ(model.history[0].prior_term, 0);
    const Matrix a = model.metric.matrix();
    const Matrix& x = problem.source.points;
    const Matrix& z = problem.target.points;
    Matrix w = x.transpose() * x + z.transpose() * z;
    w += 1e-3 * w.trace() / 5 * Matrix::Identity(5, 5);
    const Matrix expected = choice == MetricChoice::identity ? Matrix(Matrix::Identity(5, 5))
                            : choice == MetricChoice::w      ? w
                            : choice == MetricChoice::given  ? own
                                                             : spd::inverse(w);
    EXPECT_LE((a - expected).norm(), 1e-9 * expected.norm()) << name(choice);
    const Vector values = linalg::eigenvalues(expected);
    EXPECT_NEAR(model.history[0].condition, values[4] / values[0], 1e-6 * values[4] / values[0]);
  }
}

// A matrix that was set cannot be overlooked: it is the choice itself.
TEST(Fit, APriorThatWasGivenCounts) {
  const Problem problem = test::small_problem();
  const Matrix prior = test::random_spd(5, 10, 1);
  Options options;
  options.prior = prior;
  const Model model = fit(problem, options);
  const Matrix a = model.metric.matrix();
  EXPECT_GT((a - fit(problem).metric.matrix()).norm(), 0.01 * a.norm());
  // A C A = D with the moment that the metric was made from.
  EXPECT_LE(model.history.back().riccati_residual, 1e-8);
}

TEST(Fit, LambdaIsRelativeToTheMeanCostOfTheCentredCloudsUnderTheFirstMetric) {
  const Problem problem = test::small_problem();
  const Matrix independent = Matrix::Constant(30, 40, 1.0 / 1200);
  const Matrix c0 = moment(independent, problem.source.points, problem.target.points);
  const Model fixed = fit(problem, {.metric = MetricChoice::identity, .lambda = 0.3});
  const Eigen::RowVectorXd apart =
      problem.source.points.colwise().mean() - problem.target.points.colwise().mean();
  const Matrix centred = c0 - apart.transpose() * apart;
  EXPECT_NEAR(fixed.lambda, 0.3 * centred.trace(), 1e-10);
  const Model learned = fit(problem, {.lambda = 0.3, .ridge = 0.2});
  EXPECT_NEAR(learned.ridge, 0.2 * c0.trace() / 5, 1e-10);
  const Matrix a0 = spd::inverse_sqrt(c0 + learned.ridge * Matrix::Identity(5, 5));
  EXPECT_NEAR(learned.lambda, 0.3 * (a0 * centred).trace(), 1e-8);
  const Model absolute = fit(problem, {.lambda = learned.lambda,
                                       .lambda_unit = Unit::absolute,
                                       .ridge = learned.ridge,
                                       .ridge_unit = Unit::absolute});
  EXPECT_LE((plan(absolute) - plan(learned)).lpNorm<1>(), 1e-9);
}

// Moving one cloud adds one number to each row and each column of the costs of a fixed metric.
TEST(Fit, TheDistanceBetweenTheCloudsDoesNotChangeThePlanOfAFixedMetric) {
  const Problem problem = test::small_problem();
  Problem moved = problem;
  moved.target.points.array() += 1e3;
  for (const double lambda : {0.2, 0.0}) {
    const Options options{.metric = MetricChoice::identity, .lambda = lambda, .tolerance = 1e-9};
    const Model here = fit(problem, options), there = fit(moved, options);
    EXPECT_NEAR(here.lambda, there.lambda, 1e-9 * here.lambda);
    EXPECT_LE((plan(here) - plan(there)).lpNorm<1>(), 1e-7) << lambda;
    EXPECT_EQ(predict(here, problem.target.points), predict(there, moved.target.points)) << lambda;
  }
}

// The costs alone would be 720 GB.
TEST(Fit, ExactTransportOfTooManyPointsIsRefusedAtOnce) {
  Problem many;
  many.source.points = test::random_matrix(300000, 1, 1);
  many.target.points = test::random_matrix(300000, 1, 2);
  EXPECT_TRUE(test::contains(
      test::message_of([&] { fit(many, {.metric = MetricChoice::identity, .lambda = 0}); }),
      "Options::lambda: 0"));
}

TEST(Fit, ExactTransportIsTheLimitOfSmallLambda) {
  const Problem problem = test::small_problem();
  for (const MetricChoice choice : {MetricChoice::identity, MetricChoice::learned}) {
    const Model exact = fit(problem, {.metric = choice, .lambda = 0});
    EXPECT_TRUE(exact.status.converged()) << exact.status.reason();
    EXPECT_EQ(exact.lambda, 0);
    EXPECT_FALSE(exact.exact.empty());
    if (choice == MetricChoice::learned) continue;  // another start, maybe another minimum
    const Model close = fit(problem, {.metric = choice, .lambda = 1e-4});
    EXPECT_NEAR(close.history.back().transport_cost, exact.history.back().transport_cost,
                1e-3 * exact.history.back().transport_cost);
    EXPECT_GE(close.history.back().transport_cost,
              exact.history.back().transport_cost * (1 - 1e-6));
  }
}

TEST(Fit, ASeedStartsElsewhereAndStillDescends) {
  const Problem problem = test::small_problem();
  Options options{.steps = 1, .outer_tolerance = 0};
  const Matrix first = fit(problem, options).metric.matrix();
  options.seed = 7;
  const Model seeded = fit(problem, options);
  EXPECT_GT((seeded.metric.matrix() - first).norm(), 1e-6 * first.norm());
  EXPECT_TRUE(seeded.metric.matrix() == fit(problem, options).metric.matrix());
  EXPECT_TRUE(fit(problem, {.seed = 7}).status.converged());
}

TEST(Fit, AModelOfTheSamePointsIsAStart) {
  const Problem problem = test::small_problem();
  Options options{.lambda = 0.3, .outer_tolerance = 1e-6, .acceleration = Acceleration::none};
  const Model before = fit(problem, options);
  options.lambda = 0.25;
  const Model cold = fit(problem, options);
  const Model warm = fit(problem, options, {}, &before);
  EXPECT_EQ(warm.lambda, cold.lambda);
  EXPECT_LT(warm.history.size(), cold.history.size());
  EXPECT_LE((warm.metric.matrix() - cold.metric.matrix()).norm(),
            1e-3 * cold.metric.matrix().norm());

  options.metric = MetricChoice::identity;
  const Model fixed = fit(problem, options);
  const Model again = fit(problem, options, {}, &fixed);
  EXPECT_LT(again.history.back().inner_iterations, fixed.history.back().inner_iterations);

  Problem other = problem;
  other.source.points(0, 0) += 1;
  EXPECT_THROW(fit(other, options, {}, &before), Error);
}

TEST(Fit, ACallbackSeesEveryStepAndMayStop) {
  const Problem problem = test::small_problem();
  int steps = 0;
  const Model model = fit(problem, {.steps = 20, .outer_tolerance = 0}, [&](const Progress& at) {
    if (!at.record) return true;
    EXPECT_EQ(at.record->step, ++steps);
    EXPECT_EQ(at.steps, 20);
    return steps < 3;
  });
  EXPECT_EQ(model.status.outcome, Outcome::stopped);
  EXPECT_EQ(model.history.size(), 3u);
  EXPECT_TRUE(map(model).allFinite());
}

TEST(Fit, ASingularMomentIsAStatusThatNamesTheRidge) {
  // Equal domains and exact transport: after one step nothing moves and C is zero.
  const Matrix x = test::random_matrix(12, 3, 1);
  const Model model = fit({{x, {}, {}}, {x, {}, {}}, {}}, {.lambda = 0, .ridge = 0});
  EXPECT_EQ(model.status.outcome, Outcome::diverged);
  EXPECT_NE(model.status.reason().find("Options::ridge"), std::string::npos);
}

TEST(Fit, RefusesARidgeOfZeroWhenTheSpanIsSmall) {
  const Problem wide = test::small_problem(3, 4, 20);
  EXPECT_THROW(fit(wide, {.ridge = 0}), Error);
  EXPECT_THROW(fit(wide, {.prior = PriorChoice::w, .prior_ridge = 0}), Error);
}

// A 4096 x 4096 matrix alone takes 128 MiB. Measured in a child of its own; ctest runs each test
// alone.
TEST(FitSlow, ManyDimensionsNeedNoSquareMatrix) {
  const Problem problem = test::small_problem(100, 150, 4096);
  const pid_t child = fork();
  if (child == 0) {
    const auto peak_kibibytes = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return usage.ru_maxrss;
    };
    const long before = peak_kibibytes();
    const Model model = fit(problem, {.resources = {.threads = 1}});
    predict(model, problem.target.points);
    const bool small = peak_kibibytes() - before < 120 * 1024;
    _exit(model.status.converged() && small ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

RC_GTEST_PROP(FitProperty, AnyRandomProblemKeepsItsContracts, ()) {
  const auto m = *rc::gen::inRange<Index>(1, 25), n = *rc::gen::inRange<Index>(1, 25);
  const auto d = *rc::gen::inRange<Index>(1, 12);
  const auto seed = *rc::gen::inRange(0u, 1000000u);
  const auto exponent = *rc::gen::inRange(-3, 2);
  Problem problem{{test::random_matrix(m, d, seed), {}, test::random_weights(m, seed)},
                  {test::random_matrix(n, d, seed + 1), {}, test::random_weights(n, seed + 1)},
                  {}};
  const Model model = fit(problem, {.lambda = std::pow(10.0, exponent), .steps = 200});
  RC_ASSERT(model.status.outcome == Outcome::converged ||
            model.status.outcome == Outcome::iteration_limit);
  const Step& last = model.history.back();
  RC_ASSERT(last.source_error <= 1e-6 && last.target_error <= 1e-6);
  RC_ASSERT(last.duality_gap >= 0);
  RC_ASSERT(last.riccati_residual <= 1e-8);
  const Matrix mapped = map(model);
  for (Index j = 0; j < d; ++j) {  // barycentres stay inside the box of the target
    RC_ASSERT(mapped.col(j).maxCoeff() <= problem.target.points.col(j).maxCoeff() + 1e-9);
    RC_ASSERT(mapped.col(j).minCoeff() >= problem.target.points.col(j).minCoeff() - 1e-9);
  }
}

TEST(Fit, APriorThatIsNearlySingularIsNamed) {
  const Problem problem = {Domain{Matrix::Random(20, 3), {}, {}},
                           Domain{Matrix::Random(20, 3), {}, {}}};
  Options options;
  options.prior = Matrix(Vector((Vector(3) << 1, 1e-7, 1e-13).finished()).asDiagonal());
  try {
    fit(problem, options);
    FAIL() << "such a prior was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.message().field, "prior") << error.what();
    EXPECT_NE(error.message().value.find("condition 1.0e+13"), std::string::npos) << error.what();
    EXPECT_EQ(error.message().remedy.find("$ridge"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace remblai
