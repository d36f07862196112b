// Fits along a path are the fits that `fit` makes, whatever came before them.
#include "remblai/fit_path.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace remblai {
namespace {

std::vector<Options> mixed_grid() {
  Options tight{.tolerance = 1e-10, .outer_tolerance = 1e-6, .inner = InnerTolerance::tight};
  std::vector<Options> grid;
  const auto add = [&](MetricChoice metric, PriorChoice prior, double lambda, double ridge,
                       int seed) {
    Options options = tight;
    options.metric = metric;
    options.prior = prior;
    options.lambda = lambda;
    options.ridge = ridge;
    options.seed = seed;
    grid.push_back(options);
  };
  for (const double lambda : {0.0, 2.0, 0.3, 0.05, 0.0, 0.3})
    add(MetricChoice::learned, PriorChoice::identity, lambda, 0.1, 0);
  add(MetricChoice::learned, PriorChoice::identity, 0.3, 1, 0);
  add(MetricChoice::learned, PriorChoice::identity, 0.3, 1, 3);
  add(MetricChoice::learned, PriorChoice::w, 0.3, 0.1, 0);
  for (const double lambda : {2.0, 0.3, 0.0})
    add(MetricChoice::w, PriorChoice::identity, lambda, 0.1, 0);
  add(MetricChoice::identity, PriorChoice::identity, 0.3, 0.1, 0);
  grid.push_back(tight);
  grid.back().prior = test::random_spd(5, 10, 4);
  add(MetricChoice::learned, PriorChoice::identity, 0.3, 0.1, 0);
  return grid;
}

TEST(FitPath, EveryFitIsTheOneThatFitMakes) {
  Problem problem = test::small_problem();
  problem.source.weights = test::random_weights(30, 3);
  problem.source.weights[4] = 0;
  problem.target.weights = test::random_weights(40, 5);
  problem.target.weights[7] = 0;
  const Matrix more = test::small_problem(3, 20, 5, 9).target.points;
  const std::vector<Options> grid = mixed_grid();
  std::size_t seen = 0;
  fit_path(
      problem, grid,
      [&](std::size_t place, const FitPath& path) {
        EXPECT_EQ(place, seen++);
        const Model model = fit(problem, grid[place]);
        const Model found = path.model();
        EXPECT_EQ(path.status().outcome, model.status.outcome) << place;
        EXPECT_NEAR(found.lambda, model.lambda, 1e-12 * model.lambda) << place;
        EXPECT_EQ(path.history().size(), model.history.size()) << place;
        const double objective = model.history.back().objective;
        EXPECT_NEAR(path.history().back().objective, objective, 1e-8 * std::abs(objective))
            << place;
        EXPECT_LE((plan(found) - plan(model)).lpNorm<1>(), 1e-5) << place;
        Labels expected(60);
        expected << predict(model, problem.target.points), predict(model, more);
        EXPECT_EQ((path.labels() - expected).cwiseAbs().maxCoeff(), 0) << place;
        const PredictOptions three{.neighbours = 3, .knn_metric = KnnMetric::euclidean};
        EXPECT_EQ(path.labels(three).head(40), predict(model, problem.target.points, three))
            << place;
        return true;
      },
      more);
  EXPECT_EQ(seen, grid.size());
}

TEST(FitPath, AVisitorMayEndIt) {
  int visits = 0;
  fit_path(test::small_problem(), mixed_grid(),
           [&](std::size_t, const FitPath&) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
}

TEST(FitPath, APathDownInLambdaIsCheaperThanItsFits) {
  const Problem problem = test::small_problem();
  FitPath path(problem, {.metric = MetricChoice::identity});
  int along = 0, alone = 0;
  for (const double lambda : {0.5, 0.3, 0.2, 0.12, 0.07}) {
    const Options options{.metric = MetricChoice::identity, .lambda = lambda};
    path.fit(options);
    along += path.history().back().inner_iterations;
    alone += fit(problem, options).history.back().inner_iterations;
  }
  EXPECT_LT(along, alone);
}

// What is refused leaves no trace in the fits that follow.
TEST(FitPath, ARefusedFitDoesNotPoisonTheNext) {
  const Problem problem = test::small_problem();
  const Options good{.lambda = 0.3};
  FitPath path(problem, good);
  EXPECT_THROW(path.labels(), Error);  // before the first fit
  EXPECT_THROW(path.model(), Error);
  path.fit(good);
  const double objective = path.history().back().objective;
  Options tiny{.lambda = 1e-320, .ridge = 50};
  EXPECT_THROW(path.fit(tiny), Error);
  EXPECT_THROW(path.labels(), Error);
  EXPECT_TRUE(path.history().empty());
  path.fit(good);
  EXPECT_NEAR(path.history().back().objective, objective, 1e-6 * objective);
  Options indefinite;
  indefinite.metric = Matrix(-Matrix::Identity(5, 5));
  EXPECT_THROW(path.fit(indefinite), Error);
  EXPECT_THROW(path.model(), Error);
  path.fit(good);
  EXPECT_NEAR(path.history().back().objective, objective, 1e-6 * objective);
}

// An outlier that a relaxed plan leaves alone: the path labels as the model does, in double and
// float.
TEST(FitPath, RelaxedRowsThatVanish) {
  Problem problem = test::small_problem(60, 50);
  problem.source.points.row(7) *= 8;
  for (const Precision precision : {Precision::float64, Precision::float32})
    for (const double lambda : {0.1, 0.003}) {
      const Options options{.metric = MetricChoice::identity,
                            .lambda = lambda,
                            .relax_source = lambda,
                            .tolerance = 1e-5,
                            .resources = {.precision = precision}};
      FitPath path(problem, options);
      path.fit(options);
      EXPECT_EQ(path.labels(), predict(path.model(), problem.target.points))
          << name(precision) << " " << lambda;
    }
}

TEST(FitPath, RefusesWhatItCannotUse) {
  Problem problem = test::small_problem();
  FitPath path(problem, {});
  EXPECT_THROW(path.fit({.lambda = -1}), Error);
  EXPECT_THROW(path.fit({.steps = 0}), Error);
  EXPECT_THROW(FitPath(problem, {}, Matrix::Zero(3, 4)), Error);
  problem.source.labels.resize(0);
  FitPath unlabelled(problem, {});
  unlabelled.fit({});
  EXPECT_THROW(unlabelled.labels(), Error);
}

}  // namespace
}  // namespace remblai
