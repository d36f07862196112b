// Class-aware fits as a whole: what they answer, and what must not change the answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "fit/class_test_tools.h"
#include "model/gaussian.h"
#include "remblai/fit.h"
#include "remblai/fit_path.h"
#include "remblai/map.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

using test::agreement;
using test::class_aware;
using test::class_problem;
using test::difference;
using test::random_matrix;

// Few dimensions and more dimensions than points.
std::vector<Problem> problems() {
  return {class_problem(3, 30, 36, 4, 1, 2), class_problem(4, 20, 18, 60, 2, 1)};
}

void expect_same_answers(const Model& a, const Matrix& points_a, const Model& b,
                         const Matrix& points_b, double tolerance) {
  const ClassShares p = probabilities(a, points_a), q = probabilities(b, points_b);
  EXPECT_EQ(p.classes, q.classes);
  EXPECT_LT(difference(p.shares, q.shares), tolerance);
  EXPECT_EQ(predict(a, points_a), predict(b, points_b));
  EXPECT_LT(difference(a.classes->shares, b.classes->shares), tolerance);
  EXPECT_EQ(a.classes->translated, b.classes->translated);
  EXPECT_EQ(a.classes->cautious, b.classes->cautious);
}

TEST(ClassAware, LabelsAreRightWhereClassesAreFarApart) {
  for (const Index d : {4, 8, 100}) {
    const Problem problem = class_problem(3, 30, 60, d, 3, 5);
    const Model model = fit(problem, class_aware());
    EXPECT_TRUE(model.status.converged()) << model.status.reason();
    EXPECT_EQ(model.history.size(), 3u);
    EXPECT_GT(agreement(predict(model, problem.target.points), problem.target.labels), 0.98) << d;
    const Vector truth{{0.78, 0.11, 0.11}};
    EXPECT_LT(difference(model.classes->shares, truth), 0.06) << model.classes->shares;
  }
}

// Where normal classes overlap the best label depends on the shares of the classes. Bayes' rule,
// which knows centres and shares, is the limit; the nearest mean of the head knows no shares.
TEST(ClassAware, LabelsFollowTheSharesOfOverlappingClasses) {
  double found = 0, limit = 0, blind = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Problem problem = class_problem(3, 240, 300, 4, seed, 1.2, 0);
    const Matrix& points = problem.target.points;
    const Model model = fit(problem, class_aware());
    const Classifier& head = model.classes->head;
    ASSERT_EQ(head.width, 0) << "not by class means";
    const auto share_right = [&](const Matrix& scores) {
      Labels labels(scores.rows());
      for (Index j = 0; j < scores.rows(); ++j) {
        Index place = 0;
        scores.row(j).maxCoeff(&place);
        labels[j] = 3 * place + 2;
      }
      return agreement(labels, problem.target.labels) / 5;
    };
    found += agreement(predict(model, points), problem.target.labels) / 5;
    blind += share_right(head.scores(model.metric.embed(points)));
    const Vector shares{{7.0 / 9, 1.0 / 9, 1.0 / 9}};
    const Matrix centres = 1.2 * random_matrix(3, 4, 1000 + seed);
    limit += share_right((squared_distances(points, centres) / -2).rowwise() +
                         shares.array().log().matrix().transpose());
  }
  EXPECT_LT(blind, limit - 0.04);
  EXPECT_GT(found, blind + (limit - blind) / 3) << blind << " to " << limit;
}

TEST(ClassAware, ALabelIsTheMostProbableClass) {
  for (const Problem& problem : problems()) {
    const Model model = fit(problem, class_aware());
    const Matrix points = 3 * random_matrix(50, problem.source.dimension(), 9);
    const ClassShares found = probabilities(model, points);
    EXPECT_EQ(found.classes, model.classes->classes);
    EXPECT_LT(difference(found.shares.rowwise().sum(), Matrix::Ones(50, 1)), 1e-12);
    EXPECT_GE(found.shares.minCoeff(), 0);
    const Labels labels = predict(model, points);
    const Classifier& head = model.classes->head;
    const Matrix scores = head.calibrated(head.scores(model.metric.embed(points)));
    for (Index i = 0; i < 50; ++i) {
      Index best = 0, highest = 0;
      found.shares.row(i).maxCoeff(&best);
      scores.row(i).maxCoeff(&highest);
      EXPECT_EQ(labels[i], found.classes[best]) << i;
      EXPECT_EQ(labels[i], found.classes[highest]) << i;
    }
  }
}

// Scores that are tiny far away from all points still say which class is the nearest.
TEST(ClassAware, FarPointsGetTheClassOfTheHighestScore) {
  Problem problem = class_problem(2, 40, 40, 2, 4, 0);
  for (Domain* domain : {&problem.source, &problem.target})
    for (Index i = 0; i < 40; ++i) {  // rings, which only kernels tell apart
      domain->labels[i] = i % 2 ? 5 : 2;
      domain->points.row(i) *= (i % 2 ? 3 : 1) / domain->points.row(i).norm();
    }
  const Model model = fit(problem, class_aware());
  const Classifier& head = model.classes->head;
  ASSERT_GT(head.width, 0);
  for (const double distance : {1.0, 10.0, 15.0, 20.0, 25.0, 30.0, 100.0, 1e4, 1e100})
    for (int turn = 0; turn < 12; ++turn) {
      const Matrix point{{distance * std::cos(turn), distance * std::sin(turn)}};
      const Matrix scores = head.scores(model.metric.embed(point));
      const std::int64_t expected = model.classes->classes[scores(0, 1) > scores(0, 0) ? 1 : 0];
      EXPECT_EQ(predict(model, point)[0], expected) << distance << " scores " << scores;
    }
}

// Farther than any kernel reaches the nearest point decides, and nothing is called probable.
TEST(ClassAware, PointsOutOfReachGetTheClassOfTheNearestPoint) {
  const Problem problem = class_problem(3, 40, 40, 2, 4, 2);
  const Model model = fit(problem, class_aware());
  const Classifier& head = model.classes->head;
  ASSERT_GT(head.width, 0);
  std::set<std::int64_t> found;
  for (int turn = 0; turn < 30; ++turn) {
    const Matrix point{{1e3 * std::cos(turn), 1e3 * std::sin(turn)}};
    const Matrix embedded = model.metric.embed(point);
    Index nearest = 0, best = 0;
    (head.points.rowwise() - embedded.row(0)).rowwise().squaredNorm().minCoeff(&nearest);
    head.coefficients.row(nearest).maxCoeff(&best);
    EXPECT_EQ(predict(model, point)[0], model.classes->classes[best]) << turn;
    EXPECT_LT(difference(probabilities(model, point).shares, Matrix::Constant(1, 3, 1 / 3.0)),
              1e-12);
    found.insert(predict(model, point)[0]);
  }
  EXPECT_GT(found.size(), 1u);
}

TEST(ClassAware, TrainingPointsAreMappedLikeNewOnes) {
  for (const Problem& problem : problems())
    for (const MetricChoice metric : {MetricChoice::learned, MetricChoice::identity}) {
      Options options = class_aware();
      options.metric = metric;
      const Model model = fit(problem, options);
      EXPECT_LT(difference(map(model, problem.source.points), map(model)), 1e-7);
      EXPECT_LT(difference(map_back(model, problem.target.points), map_back(model)), 1e-7);
      const Matrix g = plan(model);
      const Labels& classes = model.classes->classes;
      const Matrix members =
          test::one_hot(test::places_in(classes, problem.source.labels), classes.size());
      const Vector columns = g.colwise().sum();
      EXPECT_LT(difference(propagate(model, problem.target.points).shares,
                           columns.cwiseInverse().asDiagonal() * g.transpose() * members),
                1e-7);
    }
}

TEST(ClassAware, TheUnitOfTheDataDoesNotMatter) {
  for (const Problem& problem : problems()) {
    const Model model = fit(problem, class_aware());
    for (const double unit : {1e-100, 1e-3, 1e100}) {
      Problem scaled = problem;
      scaled.source.points *= unit;
      scaled.target.points *= unit;
      const Model other = fit(scaled, class_aware());
      SCOPED_TRACE(unit);
      expect_same_answers(model, problem.target.points, other, scaled.target.points, 1e-6);
      EXPECT_LT(difference(map(model), map(other) / unit), 1e-6);
    }
  }
}

TEST(ClassAware, HowFarTheTargetIsMovedDoesNotMatter) {
  for (const Problem& problem : problems()) {
    const Eigen::RowVectorXd way = random_matrix(1, problem.source.dimension(), 7).row(0);
    const auto moved = [&](double far) {
      Problem other = problem;
      other.target.points.rowwise() += far * way;
      return other;
    };
    const Problem near = moved(1e3);
    const Model model = fit(near, class_aware());
    EXPECT_TRUE(model.classes->translated);
    for (const double far : {2e3, 1e5, 1e6}) {
      const Problem other = moved(far);
      SCOPED_TRACE(far);
      expect_same_answers(model, near.target.points, fit(other, class_aware()), other.target.points,
                          1e-3);
    }
    for (const double far : {1e8, 1e9, 1e10}) {  // rounded to 1e-6 of a deviation, at last
      const Problem other = moved(far);
      const Model found = fit(other, class_aware());
      EXPECT_TRUE(found.status.converged()) << far << " " << found.status.reason();
      EXPECT_GT(
          test::agreement(predict(found, other.target.points), predict(model, near.target.points)),
          0.97)
          << far;
    }
    // Both domains together: nothing is relative to zero.
    Problem both = problem;
    both.source.points.rowwise() += 1e4 * way;
    both.target.points.rowwise() += 1e4 * way;
    expect_same_answers(fit(problem, class_aware()), problem.target.points,
                        fit(both, class_aware()), both.target.points, 1e-5);
  }
}

TEST(ClassAware, PermutingPointsPermutesTheLabels) {
  for (const Problem& problem : problems()) {
    const auto order = [](Index size, Index step) {
      std::vector<Index> places;
      for (Index i = 0; i < size; ++i) places.push_back((i * step + 3) % size);
      return places;
    };
    const std::vector<Index> rows = order(problem.source.size(), 7);
    const std::vector<Index> columns = order(problem.target.size(), 5);
    Problem other = problem;
    other.source.points = problem.source.points(rows, Eigen::all);
    other.source.labels = problem.source.labels(rows);
    other.target.points = problem.target.points(columns, Eigen::all);
    const Model a = fit(problem, class_aware()), b = fit(other, class_aware());
    const Matrix in_order = problem.target.points(columns, Eigen::all);
    expect_same_answers(a, in_order, b, other.target.points, 1e-6);
    EXPECT_LT(difference(plan(a)(rows, columns), plan(b)), 1e-6);
  }
}

TEST(ClassAware, NamesOfClassesAndLabelsOfTheTargetDoNotMatter) {
  const Problem problem = problems().front();
  Problem renamed = problem;
  renamed.source.labels = 100 * problem.source.labels.array() - 4000;
  renamed.target.labels.setConstant(2);
  const Labels before = predict(fit(problem, class_aware()), problem.target.points);
  const Labels after = predict(fit(renamed, class_aware()), problem.target.points);
  EXPECT_EQ(Labels(100 * before.array() - 4000), after);
}

// Every plan after the first of a path, and one that starts from a model, is the same fit.
TEST(ClassAware, FitsOfAPathAreThoseOfFit) {
  const Problem problem = class_problem(3, 30, 36, 4, 1, 1);
  std::vector<Options> grid;
  for (const double lambda : {0.1, 0.5, 0.0, 0.1}) {
    grid.push_back(class_aware());
    grid.back().lambda = lambda;
  }
  grid.push_back({.lambda = 0.3});
  grid.push_back(class_aware());
  grid.back().metric = MetricChoice::identity;
  grid.push_back(class_aware());
  fit_path(problem, grid, [&](std::size_t place, const FitPath& path) {
    SCOPED_TRACE(place);
    const Model model = fit(problem, grid[place]), found = path.model();
    EXPECT_EQ(path.status().outcome, model.status.outcome);
    for (const Rule rule : {Rule::automatic, Rule::nearest, Rule::propagate})
      EXPECT_EQ(path.labels({.rule = rule}), predict(model, problem.target.points, {.rule = rule}))
          << name(rule);
    EXPECT_EQ(found.classes.has_value(), model.classes.has_value());
    if (model.classes)
      expect_same_answers(model, problem.target.points, found, problem.target.points, 1e-5);
    EXPECT_LT(difference(plan(model), plan(found)), 1e-5);
    return true;
  });
}

TEST(ClassAware, AStoppedFitStillAnswers) {
  const Problem problem = problems().front();
  const Model model = fit(problem, class_aware(), [](const Progress& at) { return !at.record; });
  EXPECT_EQ(model.status.outcome, Outcome::stopped);
  EXPECT_EQ(model.history.size(), 1u);
  Options one = class_aware();
  one.steps = 1;
  expect_same_answers(fit(problem, one), problem.target.points, model, problem.target.points, 1e-6);
}

// Landmarks make every classifier long enough to be asked for its pulse. Whenever the stop comes,
// there is a model, it says so, and it labels by class means where there was no time for more.
TEST(ClassAware, SlowFitsCanBeStoppedWhileTheirClassifiersAreMade) {
  const Problem problem = class_problem(3, 4500, 4500, 40, 3, 1.5, 1);
  Options options = class_aware();
  options.classes.landmarks = 600;
  int calls = 0;
  const Model whole = fit(problem, options, [&](const Progress& at) {
    if (!at.record) ++calls;
    return true;
  });
  ASSERT_TRUE(whole.status.converged());
  EXPECT_GT(calls, 5);
  Model stopped = fit(problem, options, [](const Progress&) { return false; });
  EXPECT_EQ(stopped.status.outcome, Outcome::stopped);
  EXPECT_EQ(stopped.history.size(), 1u);
  EXPECT_GT(test::agreement(predict(stopped, problem.target.points), problem.target.labels), 0.5);
  // To have said it once is enough, also while the first step is prepared.
  calls = 0;
  stopped = fit(problem, options, [&](const Progress&) { return ++calls > 1; });
  EXPECT_EQ(stopped.status.outcome, Outcome::stopped);
  EXPECT_EQ(stopped.history.size(), 1u);
  // A stop during the head is a stop too.
  int records = 0;
  stopped = fit(problem, options, [&](const Progress& at) {
    if (at.record) ++records;
    return records < 3;
  });
  EXPECT_EQ(stopped.status.outcome, Outcome::stopped);
}

}  // namespace
}  // namespace remblai
