// Class-aware fits by several ranks: the same for any number of them, and the labels of one
// process.
#include <gtest/gtest.h>

#include "fit/kernel_ridge.h"
#include "ranks/ranks_data.h"
#include "remblai/map.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

// Classes around points of their own; those of the target are displaced, and have other shares.
Data classes(Index m, Index n, Index d, int count) {
  Data out = data(m, n, d);
  const Matrix centres = 4 * normal_points(count, d, 3);
  Problem& problem = out.problem;
  for (Index i = 0; i < m; ++i) {
    problem.source.labels[i] = 10 * (i % count) - 7;
    problem.source.points.row(i) += centres.row(i % count);
  }
  for (Index j = 0; j < n; ++j) problem.target.points.row(j) += centres.row(j % 2 ? j % count : 0);
  out.options = {.method = Method::class_aware};
  out.options.resources.threads = 1;
  return out;
}

struct Result {
  Model model;
  Labels labels, neighbours;
};

Result adapt_by(int ranks, const Data& given) {
  Result whole;
  const Matrix& points = given.problem.target.points;
  run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const Model model = fit(part_of(given.problem, *comm), options);
    const Labels labels = predict(model, points, {});
    const Labels neighbours = predict(model, points, {.rule = Rule::nearest});
    const Model all = gathered(model);
    if (comm->rank() == 0) whole = {all, labels, neighbours};
  });
  return whole;
}

void expect_same_classifier(const Classifier& a, const Classifier& b, int ranks) {
  EXPECT_EQ(a.width, b.width) << ranks;
  EXPECT_EQ(a.scale, b.scale) << ranks;
  EXPECT_EQ(a.temperature, b.temperature) << ranks;
  EXPECT_EQ(a.points, b.points) << ranks;
  EXPECT_EQ(a.coefficients, b.coefficients) << ranks;
}

void expect_same_classes(const Data& given) {
  const Result one = adapt_by(1, given);
  ASSERT_TRUE(one.model.classes);
  for (const int ranks : {2, 3, 4}) {
    const Result several = adapt_by(ranks, given);
    EXPECT_EQ(several.model.f, one.model.f) << ranks;
    EXPECT_EQ(several.model.g, one.model.g) << ranks;
    EXPECT_EQ(several.model.metric.factor, one.model.metric.factor) << ranks;
    EXPECT_EQ(several.model.classes->shares, one.model.classes->shares) << ranks;
    EXPECT_EQ(several.model.classes->moves, one.model.classes->moves) << ranks;
    EXPECT_EQ(several.model.classes->reliability, one.model.classes->reliability) << ranks;
    expect_same_classifier(several.model.classes->head, one.model.classes->head, ranks);
    expect_same_classifier(several.model.classes->opinion, one.model.classes->opinion, ranks);
    EXPECT_EQ(several.labels, one.labels) << ranks;
    EXPECT_EQ(several.neighbours, one.neighbours) << ranks;
  }
  // One process solves the same systems, but for rounding.
  const Model alone = fit(given.problem, given.options);
  if (given.options.classes.landmarks > given.problem.source.size() + given.problem.target.size()) {
    EXPECT_EQ(one.model.classes->head.missed, 0) << "landmarks where systems are exact";
  }
  EXPECT_EQ(one.labels, predict(alone, given.problem.target.points, {}));
  EXPECT_LE((one.model.classes->shares - alone.classes->shares).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_NEAR(one.model.classes->reliability, alone.classes->reliability, 1e-12);
}

TEST(RanksClassAware, AnyNumberOfRanksGivesTheSameBits) {
  expect_same_classes(classes(203, 151, 7, 3));
}

TEST(RanksClassAware, SeveralThreadsOnEachRank) {
  Data given = classes(300, 151, 5, 3);
  const Result one = adapt_by(1, given);
  given.options.resources.threads = 3;
  const Result several = adapt_by(2, given);
  EXPECT_EQ(several.model.f, one.model.f);
  EXPECT_EQ(several.model.g, one.model.g);
  expect_same_classifier(several.model.classes->head, one.model.classes->head, 2);
}

// Kernels that are far too wide tell nothing apart: class means are the better classifier.
TEST(RanksClassAware, ClassMeans) {
  Data given = classes(203, 151, 7, 5);
  given.options.classes.kernel_width = 1000;
  given.options.classes.smoothing = 100;
  const Model alone = fit(given.problem, given.options);
  ASSERT_EQ(alone.classes->opinion.width, 0);
  ASSERT_EQ(alone.classes->head.width, 0);
  expect_same_classes(given);
}

TEST(RanksClassAware, Landmarks) {
  Data given = classes(400, 210, 5, 4);
  given.options.classes.landmarks = 60;
  expect_same_classes(given);
}

TEST(RanksClassAware, AFixedMetricAndNoTranslation) {
  Data given = classes(180, 90, 4, 3);
  given.options.metric = MetricChoice::identity;
  expect_same_classes(given);
  given.options.classes.translation = Translation::no;
  given.options.classes.caution = Caution::bold;
  expect_same_classes(given);
}

TEST(RanksClassAware, WeightsAndKnownLabels) {
  Data given = classes(300, 120, 4, 3);
  given.problem.source.weights = normal_points(300, 1, 3).cwiseAbs().reshaped();
  given.problem.source.weights.segment(40, 100).setZero();
  given.problem.target.weights = Vector::Ones(120);
  given.problem.target.weights[7] = 0;
  given.problem.known_labels = Labels::Constant(120, unknown_label);
  given.problem.known_labels[0] = -7;
  given.problem.known_labels[1] = 3;
  expect_same_classes(given);
}

TEST(RanksClassAware, AClassOfOneRankAlone) {
  Data given = classes(200, 80, 3, 2);
  given.problem.source.labels.tail(5).setConstant(std::int64_t{1} << 53);
  given.problem.source.points.bottomRows(5).array() += 20;
  expect_same_classes(given);
}

TEST(RanksClassAware, MoreRanksThanPieces) {
  expect_same_classes(classes(12, 30, 2, 2));
}

TEST(RanksClassAware, LabelsThatAreMissingAreAnErrorOfAll) {
  const Data given = classes(200, 30, 3, 2);
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    Problem part = part_of(given.problem, *comm);
    if (comm->rank() == 1) part.source.labels.resize(0);
    Options options = given.options;
    options.resources.comm = comm;
    EXPECT_THROW(fit(part, options), Error);
  });
}

// Ranks have unequal numbers of pieces. Wherever the answer is no, all hear it and return.
TEST(RanksClassAware, LandmarkFitsAskAllRanksBetweenPieces) {
  const Matrix all = normal_points(500, 3, 1), common = normal_points(70, 3, 2);
  const auto fit_until = [&](int most) {
    int asked_by_first = 0;
    run_ranks(4, [&](const std::shared_ptr<const Comm>& comm) {
      const auto [first, last] = share_of(500, comm->rank(), comm->size());
      const Shard shard(comm, last - first, 1 + comm->rank() % 2);
      Matrix points(70 + last - first, 3);
      points << common, all.middleRows(first, last - first);
      KernelRidge ridge(points, 40, {}, CommonRows::of(shard, 70));
      ridge.set_width(3);
      int asked = 0;
      const KernelFit fit = ridge.fit(points.leftCols(2), Vector::Ones(points.rows()), 0.1,
                                      last - first, [&] { return shard.all(++asked < most); });
      EXPECT_EQ(fit.coefficients.size() > 0, asked < most) << most;
      EXPECT_EQ(shard.maximum(asked), asked) << most;
      if (comm->rank() == 0) asked_by_first = asked;
    });
    return asked_by_first;
  };
  const int total = fit_until(1000);
  EXPECT_GE(total, 10);
  for (int most = 1; most <= total; ++most) EXPECT_EQ(fit_until(most), most);
}

TEST(RanksClassAware, NewPointsNeedTheClassesOfAllSourcePoints) {
  const Data given = classes(200, 60, 3, 3);
  for (const int ranks : {1, 3})
    run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
      Options options = given.options;
      options.steps = 1;
      options.resources.comm = comm;
      const Model model = fit(part_of(given.problem, *comm), options);
      const Matrix& points = given.problem.source.points;
      if (ranks == 1) {
        EXPECT_EQ(map(model, points).rows(), 200);
      } else {
        EXPECT_THROW(map(model, points), Error);
      }
      EXPECT_EQ(map(model).rows(), model.source.size());
    });
}

TEST(RanksClassAware, OneRankThatStopsStopsAll) {
  const Data given = classes(200, 60, 3, 3);
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const Model model = fit(part_of(given.problem, *comm), options, [&](const Progress& progress) {
      return comm->rank() != 2 || !progress.record || progress.step < 2;
    });
    EXPECT_EQ(model.status.outcome, Outcome::stopped);
    EXPECT_EQ(model.history.size(), 2U);
    EXPECT_EQ(predict(model, given.problem.target.points, {}).size(), 60);
  });
}

// The callback is heard ten times a second, so how far they come differs; that all return does not.
TEST(RanksClassAware, SlowOneRankThatStopsBetweenTheClassifiersStopsAll) {
  Data given = classes(2000, 1500, 10, 5);
  given.options.classes.landmarks = 700;
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const Model model = fit(part_of(given.problem, *comm), options, [&](const Progress& progress) {
      return comm->rank() != 1 || progress.record != nullptr;
    });
    EXPECT_EQ(model.status.outcome, Outcome::stopped);
    EXPECT_EQ(predict(model, given.problem.target.points, {}).size(), 1500);
  });
}

TEST(RanksClassAware, SlowACheckpointGoesOnOnAnyNumberOfRanks) {
  for (const MetricChoice metric : {MetricChoice::learned, MetricChoice::identity}) {
    Data given = classes(300, 80, 4, 3);
    given.options.metric = metric;
    const Model whole = adapt_by(1, given).model;
    for (const int after : {1, 2, 4}) {
      const Model model = stopped_and_resumed(
          given, 2, after, testing::TempDir() + "remblai_ranks_class_checkpoint.npz");
      EXPECT_EQ(model.f, whole.f) << after;
      EXPECT_EQ(model.g, whole.g) << after;
      EXPECT_EQ(model.classes->head.coefficients, whole.classes->head.coefficients) << after;
    }
  }
}

}  // namespace
}  // namespace remblai
