// Fits by several ranks: those of one rank, whatever the number of ranks, and those of one process
// up to the tolerances.
#include "remblai/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <mutex>

#include "ranks/ranks_data.h"
#include "remblai/error.h"
#include "remblai/estimate.h"
#include "remblai/map.h"
#include "remblai/model_io.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

// The model of all ranks.
Model fit_by(int ranks, const Data& given) {
  Model whole;
  run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const Model model = gathered(fit(part_of(given.problem, *comm), options));
    if (comm->rank() == 0) whole = model;
  });
  return whole;
}

void expect_same_for_any_number(const Data& given) {
  const Model one = fit_by(1, given);
  EXPECT_TRUE(one.g.allFinite() || given.problem.target.weights.size() > 0);
  for (const int ranks : {2, 3, 4, 5}) {
    const Model several = fit_by(ranks, given);
    EXPECT_EQ(several.source.points, one.source.points) << ranks;
    EXPECT_EQ(several.source.labels, one.source.labels) << ranks;
    EXPECT_EQ(several.source.weights, one.source.weights) << ranks;
    EXPECT_EQ(several.f, one.f) << ranks;
    EXPECT_EQ(several.g, one.g) << ranks;
    EXPECT_EQ(several.metric.factor, one.metric.factor) << ranks;
    ASSERT_EQ(several.history.size(), one.history.size()) << ranks;
    EXPECT_EQ(several.history.back().objective, one.history.back().objective) << ranks;
    EXPECT_EQ(several.status.outcome, one.status.outcome) << ranks;
  }
}

double largest_difference(const Vector& a, const Vector& b) {
  double largest = 0;
  for (Index i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(RanksFit, AnyNumberOfRanksGivesTheSameBits) {
  expect_same_for_any_number(data(203, 151, 7));
}

TEST(RanksFit, FewerPointsThanRanks) {
  expect_same_for_any_number(data(3, 20, 2));
  expect_same_for_any_number(data(1, 5, 2));
}

TEST(RanksFit, MorePointsThanAPieceHas) {
  expect_same_for_any_number(data(2500, 90, 5));
}

TEST(RanksFit, ZeroWeights) {
  Data given = data(300, 80, 4);
  given.problem.source.weights = normal_points(300, 1, 3).cwiseAbs().reshaped();
  given.problem.source.weights.segment(40, 100).setZero();
  given.problem.source.weights.tail(3).setZero();
  given.problem.target.weights = Vector::Ones(80);
  given.problem.target.weights[7] = 0;
  expect_same_for_any_number(given);
}

TEST(RanksFit, EveryMarginalRule) {
  for (const auto& [source, target] : {std::pair{0.5, 0.0}, {0.0, 0.7}, {1.0, 2.0}}) {
    Data given = data(170, 90, 3);
    given.options.relax_source = source;
    given.options.relax_target = target;
    expect_same_for_any_number(given);
  }
}

TEST(RanksFit, EveryPriorMetricSeedAndPreprocessing) {
  for (const auto prior : {PriorChoice::w, PriorChoice::w_inverse, PriorChoice::spread}) {
    Data given = data(150, 70, 3);
    given.options.prior = prior;
    given.options.seed = 5;
    expect_same_for_any_number(given);
  }
  for (const auto metric : {MetricChoice::identity, MetricChoice::w, MetricChoice::w_inverse}) {
    Data given = data(150, 70, 3);
    given.options.metric = metric;
    expect_same_for_any_number(given);
  }
  const Matrix matrix{{3, 1, 0}, {1, 2, 0.5}, {0, 0.5, 1}};
  for (const bool metric : {true, false}) {
    Data given = data(150, 70, 3);
    if (metric)
      given.options.metric = matrix;
    else
      given.options.prior = matrix;
    expect_same_for_any_number(given);
  }
  for (const auto kind :
       {Preprocess::zscore, Preprocess::standardise, Preprocess::centre, Preprocess::l2}) {
    Data given = data(150, 70, 3);
    given.options.preprocess = kind;
    expect_same_for_any_number(given);
  }
  Data histograms = data(150, 70, 3);
  for (Domain* domain : {&histograms.problem.source, &histograms.problem.target})
    domain->points = domain->points.cwiseAbs().eval();
  histograms.options.preprocess = Preprocess::hellinger;
  expect_same_for_any_number(histograms);
}

TEST(RanksFit, SmallLambdaTakesNewtonSteps) {
  Data given = data(200, 180, 4);
  given.options.lambda = 0.005;
  given.options.steps = 3;
  expect_same_for_any_number(given);
}

TEST(RanksFit, TheNumberOfThreadsDoesNotMatter) {
  Data given = data(700, 300, 6);
  const Model one = fit_by(1, given);
  given.options.resources.threads = 3;
  const Model several = fit_by(2, given);
  EXPECT_EQ(several.f, one.f);
  EXPECT_EQ(several.g, one.g);
  EXPECT_EQ(several.metric.factor, one.metric.factor);
}

TEST(RanksFit, OtherSolvers) {
  for (const auto solver : {SolverChoice::sinkhorn, SolverChoice::anderson, SolverChoice::newton}) {
    Data given = data(150, 70, 3);
    given.options.solver = solver;
    given.options.steps = 2;
    expect_same_for_any_number(given);
  }
}

TEST(RanksFit, DependentColumnsAndMoreColumnsThanPoints) {
  Data given = data(180, 60, 6);
  for (Domain* domain : {&given.problem.source, &given.problem.target}) {
    domain->points.col(5) = domain->points.col(0) + domain->points.col(1);
    domain->points.col(4).setConstant(3);
  }
  expect_same_for_any_number(given);
  expect_same_for_any_number(data(40, 20, 90));
}

TEST(RanksFit, NothingStored) {
  Data given = data(700, 300, 5);
  given.options.resources.memory = 1e-3;
  expect_same_for_any_number(given);
}

// Each rank makes its own factors in float, of target points that are divided.
TEST(RanksFit, NothingStoredInFloat) {
  for (const bool learned : {true, false}) {
    Data given = data(300, 4300, 3);
    given.options.resources.precision = Precision::float32;
    given.options.resources.memory = 2e-3;
    given.options.tolerance = 1e-3;
    given.options.steps = 2;
    given.options.seed = 3;
    if (!learned) given.options.metric = MetricChoice::w;
    expect_same_for_any_number(given);
  }
}

TEST(RanksFit, StoredOrNotIsTheSame) {
  Data given = data(700, 300, 5);
  const Model stored = fit_by(3, given);
  given.options.resources.memory = 1e-3;
  const Model made = fit_by(2, given);
  EXPECT_EQ(stored.f, made.f);
  EXPECT_EQ(stored.g, made.g);
}

TEST(RanksFit, OneProcessFindsTheSameUpToTheTolerance) {
  Data given = data(203, 151, 7);
  given.options.tolerance = 1e-10;
  given.options.outer_tolerance = 1e-8;
  given.options.steps = 100;
  const Model ranks = fit_by(3, given);
  const Model alone = fit(given.problem, given.options);
  EXPECT_TRUE(ranks.status.converged());
  EXPECT_LE(largest_difference(ranks.f, alone.f), 1e-5 * alone.lambda);
  EXPECT_NEAR(ranks.history.back().objective, alone.history.back().objective,
              1e-8 * std::abs(alone.history.back().objective));
}

TEST(RanksFit, SharesOfAnyKindAgreeToRounding) {
  const Data given = data(200, 100, 4);
  const Model one = fit_by(1, given);
  Model whole;
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    const Index begins[] = {0, 11, 11, 200};
    const Index first = begins[comm->rank()], count = begins[comm->rank() + 1] - first;
    Problem part = given.problem;
    part.source.points = given.problem.source.points.middleRows(first, count);
    part.source.labels = given.problem.source.labels.segment(first, count);
    Options options = given.options;
    options.resources.comm = comm;
    const Model model = gathered(fit(part, options));
    if (comm->rank() == 0) whole = model;
  });
  EXPECT_LE(largest_difference(whole.f, one.f), 1e-11 * (1 + one.f.cwiseAbs().maxCoeff()));
}

TEST(RanksFit, AFaultOfOneRankIsThatOfAll) {
  const Data given = data(200, 30, 3);
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    Problem part = part_of(given.problem, *comm);
    if (comm->rank() == 1) part.source.points(2, 1) = std::nan("");
    Options options = given.options;
    options.resources.comm = comm;
    EXPECT_THROW(fit(part, options), Error);
  });
}

TEST(RanksFit, AFaultHasTheNumberOfTheRowAmongAll) {
  Data given = data(203, 30, 3);
  given.options.preprocess = Preprocess::hellinger;
  given.problem.source.points = given.problem.source.points.cwiseAbs().eval();
  given.problem.target.points = given.problem.target.points.cwiseAbs().eval();
  given.problem.source.points(150, 1) = -1;
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    try {
      fit(part_of(given.problem, *comm), options);
      ADD_FAILURE() << "a negative value in a histogram";
    } catch (const Error& error) {
      EXPECT_NE(error.message().problem.find("row 151, column 2"), std::string::npos)
          << error.what();
    }
  });
}

// What all ranks have must be the same on all of them.
TEST(RanksFit, WhatOneRankWasGivenAloneIsAFaultOfAll) {
  const Data given = data(200, 30, 3);
  const Model before = fit(given.problem, given.options);
  struct Case {
    const char* field;
    std::function<void(Problem&, Options&)> change;
    const Model* start = nullptr;
    Checkpoint checkpoint = {};
  };
  const auto unchanged = [](Problem&, Options&) {};
  const std::vector<Case> cases{
      {"target", [](Problem& p, Options&) { p.target.points.array() += 1; }},
      {"target", [](Problem& p, Options&) { p.target.points = normal_points(29, 3, 7); }},
      {"target", [](Problem& p, Options&) { p.target.weights = Vector::LinSpaced(30, 1, 2); }},
      {"target",
       [](Problem& p, Options&) {
         p.target.points = normal_points(30, 2, 7);
         p.source.points = normal_points(p.source.size(), 2, 7);
       }},
      {"options", [](Problem&, Options& options) { options.lambda = 0.7; }},
      {"options", [](Problem&, Options& options) { options.steps = 3; }},
      {"options", [](Problem&, Options& options) { options.method = Method::class_aware; }},
      {"options", [](Problem&, Options& options) { options.preprocess = Preprocess::zscore; }},
      {"options",
       [](Problem&, Options& options) { options.prior = Matrix(Matrix::Identity(3, 3)); }},
      {"source-labels", [](Problem& p, Options&) { p.source.labels.resize(0); }},
      {"options", unchanged, &before},
      {"options", unchanged, nullptr, {.path = testing::TempDir() + "remblai_one_rank.npz"}},
  };
  for (const Case& one : cases)
    run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
      Problem part = part_of(given.problem, *comm);
      Options options = given.options;
      options.resources.comm = comm;
      const bool other = comm->rank() == 1;
      if (other) one.change(part, options);
      try {
        fit(part, options, {}, other ? one.start : nullptr, other ? one.checkpoint : Checkpoint());
        ADD_FAILURE() << "rank " << comm->rank() << " went on";
      } catch (const Error& error) {
        EXPECT_EQ(error.message().field, one.field) << error.what();
      }
    });
}

TEST(RanksFit, TheEstimateIsOfAllRanksOfTheMachine) {
  const Data few = data(3, 20, 2), many = data(640, 300, 5);
  const double alone = estimate(many.problem, many.options).memory;
  run_ranks(4, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = many.options;
    options.resources.comm = comm;
    EXPECT_GE(estimate(part_of(few.problem, *comm), options).passes, 1);  // some have no point
    EXPECT_GE(estimate(part_of(many.problem, *comm), options).memory, alone);
  });
}

TEST(RanksFit, OneRankThatStopsStopsAll) {
  const Data given = data(200, 30, 3);
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.outer_tolerance = 0;
    options.resources.comm = comm;
    const Model model = fit(part_of(given.problem, *comm), options, [&](const Progress& progress) {
      return comm->rank() != 2 || !progress.record || progress.step < 2;
    });
    EXPECT_EQ(model.status.outcome, Outcome::stopped);
    EXPECT_EQ(model.history.size(), 2U);
  });
}

TEST(RanksFit, ACheckpointGoesOnOnAnyNumberOfRanks) {
  Data given = data(300, 80, 4);
  given.options.outer_tolerance = 0;
  given.problem.source.weights = Vector::Ones(300);
  for (const Index i : {3, 77, 78, 150, 201, 250, 299}) given.problem.source.weights[i] = 0;
  const Model whole = fit_by(1, given);
  for (const int after : {1, 2, 4}) {
    const Model model =
        stopped_and_resumed(given, 3, after, testing::TempDir() + "remblai_ranks_checkpoint.npz");
    EXPECT_EQ(model.f, whole.f) << after;
    EXPECT_EQ(model.g, whole.g) << after;
    EXPECT_EQ(model.history.size(), whole.history.size());
  }
}

TEST(RanksFit, ACheckpointOfOneProcessIsNoneOfRanks) {
  const Data given = data(100, 40, 3);
  const std::string path = testing::TempDir() + "remblai_ranks_or_not.npz";
  std::remove(path.c_str());
  const auto stop = [](const Progress& progress) { return !progress.record || progress.step < 2; };
  fit(given.problem, given.options, stop, nullptr, {.path = path});
  run_ranks(2, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const Checkpoint checkpoint{.path = path, .resume = true};
    try {
      fit(part_of(given.problem, *comm), options, {}, nullptr, checkpoint);
      ADD_FAILURE() << "it went on";
    } catch (const Error& error) {
      EXPECT_NE(error.message().problem.find("without mpirun"), std::string::npos) << error.what();
    }
  });
  std::remove(path.c_str());
}

TEST(RanksFit, AModelToStartFromIsThatOfTheRank) {
  Data given = data(200, 60, 3);
  Model one;
  for (const int ranks : {1, 3})
    run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
      Options options = given.options;
      options.resources.comm = comm;
      options.steps = 2;
      const Problem part = part_of(given.problem, *comm);
      const Model before = fit(part, options);
      options.lambda = 0.1;
      const Model after = gathered(fit(part, options, {}, &before));
      if (comm->rank() > 0) return;
      if (ranks == 1) one = after;
      EXPECT_LE(largest_difference(after.f, one.f), 1e-11 * (1 + one.f.cwiseAbs().maxCoeff()));
    });
}

TEST(RanksFit, MapsAndLabelsOfTheRanksAreThoseOfTheWhole) {
  Data given = data(203, 90, 4);
  Labels labels;
  for (const int ranks : {1, 2, 3, 5})
    run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
      Options options = given.options;
      options.resources.comm = comm;
      const Model model = fit(part_of(given.problem, *comm), options);
      const PredictOptions prediction{.neighbours = 5};
      const Labels here = predict(model, given.problem.target.points, prediction);
      const Matrix mapped = gather_rows(comm.get(), map(model));
      const Model whole = gathered(model);
      if (comm->rank() > 0) return;
      EXPECT_EQ(here, predict(whole, given.problem.target.points, prediction));
      EXPECT_LE((mapped - map(whole)).cwiseAbs().maxCoeff(), 1e-12);
      if (ranks == 1) labels = here;
      EXPECT_EQ(here, labels);
    });
}

TEST(RanksFit, SharesThroughThePlanAreThoseOfTheWhole) {
  for (const Method method : {Method::paper, Method::class_aware}) {
    Data given = data(203, 90, 4);
    given.options.method = method;
    given.problem.source.weights = Vector::Ones(203);
    given.problem.source.weights.segment(40, 70).setZero();  // all that a rank has
    const Matrix& points = given.problem.target.points;
    for (const int ranks : {1, 2, 3, 5})
      run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
        Options options = given.options;
        options.resources.comm = comm;
        const Model model = fit(part_of(given.problem, *comm), options);
        const ClassShares here = propagate(model, points);
        const Labels labels = predict(model, points, {.rule = Rule::propagate});
        EXPECT_EQ(Predictor(model, {.rule = Rule::propagate}).of_targets(), labels);
        const Model whole = gathered(model);
        if (comm->rank() > 0) return;
        const ClassShares all = propagate(whole, points);
        EXPECT_EQ(here.classes, all.classes);
        EXPECT_LE((here.shares - all.shares).cwiseAbs().maxCoeff(), 1e-12) << ranks;
        EXPECT_EQ(labels, most_likely(all)) << ranks;
      });
  }
}

TEST(RanksFit, RowsOfThePlanAreThoseOfTheWhole) {
  const Data given = data(203, 90, 4);
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const Model model = fit(part_of(given.problem, *comm), options);
    Matrix rows(model.source.size(), 90);
    Index next = 0;
    visit_plan(model, [&](Index first, const Matrix& some) {
      EXPECT_EQ(first, next);
      rows.middleRows(first, some.rows()) = some;
      next += some.rows();
    });
    EXPECT_EQ(next, model.source.size());
    const Matrix all = gather_rows(comm.get(), rows);
    const Model whole = gathered(model);
    if (comm->rank() > 0) return;
    EXPECT_LE((all - plan(whole)).cwiseAbs().maxCoeff(), 1e-15);
  });
}

TEST(RanksFit, TheTargetIsWholeAgainAfterTheFit) {
  for (const Index targets : {1, 2, 90}) {
    const Data given = data(203, targets, 4);
    run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
      Options options = given.options;
      options.resources.comm = comm;
      const Model model = fit(part_of(given.problem, *comm), options);
      EXPECT_EQ(model.target.points, given.problem.target.points);
    });
  }
}

TEST(RanksFit, TooManyNeighboursAreCountedOverAllRanks) {
  const Data given = data(70, 30, 2);
  run_ranks(2, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const Model model = fit(part_of(given.problem, *comm), options);
    EXPECT_EQ(predict(model, given.problem.target.points, {.neighbours = 70}).size(), 30);
    EXPECT_THROW(predict(model, given.problem.target.points, {.neighbours = 71}), Error);
  });
}

TEST(RanksFit, TheWayBackAndAFileNeedAllSourcePoints) {
  const Data given = data(70, 30, 2);
  const std::string path = testing::TempDir() + "remblai_ranks_model.npz";
  for (const int ranks : {1, 2})
    run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
      Options options = given.options;
      options.resources.comm = comm;
      const Model model = fit(part_of(given.problem, *comm), options);
      const Matrix& targets = given.problem.target.points;
      if (ranks == 1) {
        EXPECT_EQ(map_back(model).rows(), 30);
        return;
      }
      EXPECT_THROW(map_back(model), Error);
      EXPECT_THROW(map_back(model, targets), Error);
      EXPECT_THROW(save(model, path), Error);
      const Model whole = gathered(model);
      if (comm->rank() == 0) {
        EXPECT_EQ(map_back(whole, targets).rows(), 30);
        save(whole, path);
        EXPECT_EQ(load(path).source.size(), 70);
      }
    });
  std::remove(path.c_str());
}

TEST(RanksFit, WhatOneProcessDoesAloneIsRefused) {
  const Data given = data(200, 30, 3);
  run_ranks(2, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    options.lambda = 0;
    EXPECT_THROW(fit(part_of(given.problem, *comm), options), Error);
  });
}

}  // namespace
}  // namespace remblai
