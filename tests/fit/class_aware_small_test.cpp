// Class-aware fits of small, lopsided and degenerate problems, weights, and what may be given.
#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"
#include "io/io_test_tools.h"
#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/model_io.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

using test::agreement;
using test::class_aware;
using test::class_problem;
using test::difference;

class ClassAwareSmall : public io::test::IoTest {
 protected:
  // The fit converges, all its answers are numbers, and a file holds it.
  Model ends_well(const Problem& problem, const Options& options = class_aware()) const {
    const Model model = fit(problem, options);
    EXPECT_TRUE(model.status.converged()) << model.status.reason();
    const ClassModel& classes = *model.classes;
    EXPECT_TRUE(map(model).allFinite() && map_back(model).allFinite());
    EXPECT_TRUE(model.metric.matrix().allFinite());
    EXPECT_TRUE(classes.moves.allFinite() && classes.move_lengths.allFinite());
    EXPECT_NEAR(classes.shares.sum(), 1, 1e-9);
    EXPECT_GT(classes.shares.minCoeff(), 0);
    EXPECT_TRUE(classes.reliability >= 0 && classes.reliability <= 1 + 1e-12);
    const ClassShares found = probabilities(model, problem.target.points);
    EXPECT_LT(difference(found.shares.rowwise().sum(), Matrix::Ones(problem.target.size(), 1)),
              1e-9);
    const Matrix g = plan(model);
    EXPECT_NEAR(g.sum(), 1, 1e-6);
    EXPECT_LT(difference(g.colwise().sum().transpose(), model.target.weights), 1e-6);
    save(model, path("model.npz"));
    EXPECT_EQ(predict(load(path("model.npz")), problem.target.points),
              predict(model, problem.target.points));
    return model;
  }
};

TEST_F(ClassAwareSmall, FewPointsAndManyClasses) {
  for (const double lambda : {by_method, 0.0})
    for (const auto& [classes, m, n, d] : {std::tuple<Index, Index, Index, Index>{1, 1, 1, 1},
                                           {1, 1, 7, 3},
                                           {1, 9, 1, 3},
                                           {2, 2, 9, 3},
                                           {2, 20, 1, 4},
                                           {3, 3, 3, 40},
                                           {5, 5, 20, 3},
                                           {3, 4, 10, 3},
                                           {40, 80, 60, 10},
                                           {40, 40, 30, 5}}) {
      SCOPED_TRACE(testing::Message()
                   << classes << " classes, " << m << " " << n << " " << d << " lambda " << lambda);
      Options options = class_aware();
      options.lambda = lambda;
      ends_well(class_problem(classes, m, n, d), options);
    }
}

TEST_F(ClassAwareSmall, OneClassLabelsEverything) {
  const Problem problem = class_problem(1, 12, 15, 3);
  for (const double lambda : {by_method, 0.0}) {
    Options options = class_aware();
    options.lambda = lambda;
    const Model model = ends_well(problem, options);
    EXPECT_EQ(predict(model, 100 * test::random_matrix(9, 3, 1)), Labels::Constant(9, 2));
    EXPECT_EQ(model.classes->shares, Vector::Ones(1));
    EXPECT_NEAR(model.classes->reliability, 1, 1e-12);
  }
}

TEST_F(ClassAwareSmall, ClassesOfOnePointAndClassesOfMost) {
  Problem problem = class_problem(3, 40, 40, 3, 2, 4);
  for (Index i = 3; i < 40; ++i) {  // 38 points of the first class and one of each other
    problem.source.points.row(i) += problem.source.points.row(0) - problem.source.points.row(i % 3);
    problem.source.labels[i] = problem.source.labels[0];
  }
  const Model model = ends_well(problem);
  EXPECT_LT(difference(model.classes->source_shares, Vector{{0.95, 0.025, 0.025}}), 1e-12);
  EXPECT_GT(agreement(predict(model, problem.target.points), problem.target.labels), 0.7);
}

TEST_F(ClassAwareSmall, ConstantColumnsDuplicatesAndOnePlace) {
  Problem problem = class_problem(3, 24, 30, 4, 3);
  problem.source.points.col(2).setConstant(7);
  problem.target.points.col(2).setConstant(7);
  const Model constant = ends_well(problem);
  EXPECT_LT((map(constant).col(2).array() - 7).abs().maxCoeff(), 1e-12);
  problem.target.points.col(2).setConstant(9);  // constant in each, but not the same
  ends_well(problem);

  problem = class_problem(3, 24, 30, 4, 3);
  for (Index i = 3; i < 24; ++i) problem.source.points.row(i) = problem.source.points.row(i % 3);
  problem.target.points.bottomRows(20).rowwise() = Eigen::RowVectorXd(problem.target.points.row(0));
  ends_well(problem);
  problem.target.points = problem.source.points;
  problem.target.labels = problem.source.labels;
  EXPECT_EQ(predict(ends_well(problem), problem.target.points), problem.target.labels);

  problem.source.points.setConstant(2.5);
  problem.target.points.setConstant(2.5);
  ends_well(problem);
}

// The moves bring the source onto the target exactly, and nothing but rounding is left of the
// costs.
TEST_F(ClassAwareSmall, ClassesOfOnePlaceThatLandOnATargetPoint) {
  ends_well(class_problem(2, 2, 1, 1));
  Options identity = class_aware();
  identity.metric = MetricChoice::identity;
  for (const Index classes : {2, 3, 4})
    for (const Index d : {1, 2, 5})
      for (const Options& options : {class_aware(), identity}) {
        SCOPED_TRACE(testing::Message() << classes << " " << d << " " << name(options.metric));
        Problem problem = class_problem(classes, 2 * classes, 1, d, 9);
        for (Index i = classes; i < 2 * classes; ++i)
          problem.source.points.row(i) = problem.source.points.row(i % classes);
        ends_well(problem, options);
      }
}

TEST_F(ClassAwareSmall, EachDomainInOnePlace) {
  for (const Index classes : {1, 3})
    for (const double place : {1e3, 0.1, -1.0 / 3}) {
      SCOPED_TRACE(testing::Message() << classes << " " << place);
      Problem problem = class_problem(classes, 9, 6, 2);
      problem.source.points.setConstant(0.7);
      problem.target.points.setConstant(place);
      ends_well(problem);
    }
}

TEST_F(ClassAwareSmall, EqualPointsOfDifferentLabels) {
  Problem problem = class_problem(2, 20, 16, 3, 4);
  problem.source.points.bottomRows(10) = Matrix(problem.source.points.topRows(10));
  problem.source.labels << Labels::Constant(10, 2), Labels::Constant(10, 5);
  const Model model = ends_well(problem);
  const Matrix p = probabilities(model, problem.target.points).shares;
  EXPECT_LT((p.array() - 0.5).abs().maxCoeff(), 0.3);
}

// Only the weight of a point against the others counts.
TEST_F(ClassAwareSmall, WeightsAreRelative) {
  Problem problem = class_problem(3, 24, 30, 4, 5, 2);
  problem.source.weights = test::random_weights(24, 1);
  const Model model = ends_well(problem);
  problem.source.weights *= 700;
  const Model other = ends_well(problem);
  EXPECT_LT(difference(probabilities(model, problem.target.points).shares,
                       probabilities(other, problem.target.points).shares),
            1e-6);
  problem.source.weights.setConstant(3);
  const Model equal = ends_well(problem);
  problem.source.weights.resize(0);
  EXPECT_LT(difference(probabilities(ends_well(problem), problem.target.points).shares,
                       probabilities(equal, problem.target.points).shares),
            1e-6);
}

// A repeated point votes for itself when it is left out, and counts are effective ones, so that
// weights and repetitions agree only about.
TEST_F(ClassAwareSmall, AWeightIsAboutSoManyPoints) {
  const Problem problem = class_problem(3, 36, 45, 5, 6, 3);
  Problem weighted = problem, repeated = problem;
  std::vector<Index> rows;
  weighted.source.weights.resize(36);
  for (Index i = 0; i < 36; ++i) {
    weighted.source.weights[i] = static_cast<double>(1 + i % 2);
    for (Index k = 0; k < 1 + i % 2; ++k) rows.push_back(i);
  }
  repeated.source.points = problem.source.points(rows, Eigen::all);
  repeated.source.labels = problem.source.labels(rows);
  const Model a = ends_well(weighted), b = ends_well(repeated);
  EXPECT_LT(difference(a.classes->source_shares, b.classes->source_shares), 1e-12);
  EXPECT_LT(difference(a.classes->shares, b.classes->shares), 0.02);
  EXPECT_GT(agreement(predict(a, problem.target.points), predict(b, problem.target.points)), 0.95);
}

TEST_F(ClassAwareSmall, PointsOfWeightZeroAreAsGoodAsAbsent) {
  const Problem problem = class_problem(3, 24, 30, 4, 7, 2);
  Problem more = problem;
  const auto append = [](Domain& domain, const Matrix& points, std::int64_t label) {
    const Index size = domain.size(), extra = points.rows();
    domain.weights.resize(size + extra);
    domain.weights << Vector::Constant(size, 1.0), Vector::Zero(extra);
    domain.points.conservativeResize(size + extra, Eigen::NoChange);
    domain.points.bottomRows(extra) = points;
    domain.labels.conservativeResize(size + extra);
    domain.labels.tail(extra).setConstant(label);
  };
  append(more.source, 50 * test::random_matrix(4, 4, 1), 77);  // of a class that is not there
  append(more.target, 50 * test::random_matrix(5, 4, 2), 2);
  for (const double lambda : {by_method, 0.0}) {
    Options options = class_aware();
    options.lambda = lambda;
    const Model a = ends_well(problem, options), b = ends_well(more, options);
    EXPECT_EQ(a.classes->classes, b.classes->classes);
    EXPECT_LT(difference(a.classes->shares, b.classes->shares), 1e-9);
    const Matrix points = test::random_matrix(20, 4, 3);
    EXPECT_LT(difference(probabilities(a, points).shares, probabilities(b, points).shares), 1e-9);
    EXPECT_LT(difference(map(a), map(b).topRows(24)), 1e-9);
    EXPECT_LT(difference(map_back(a, points), map_back(b, points)), 1e-9);
    EXPECT_LT(difference(plan(a), plan(b).topLeftCorner(24, 30)), 1e-9);
    EXPECT_EQ(plan(b).bottomRows(4).sum() + plan(b).rightCols(5).sum(), 0);
    EXPECT_TRUE(b.classes->opinions.allFinite());
  }
}

TEST_F(ClassAwareSmall, WeightsOfAnySize) {
  Problem problem = class_problem(3, 24, 30, 4, 8, 2);
  for (const double tiny : {1e-6, 1e-20, 1e-90}) {
    SCOPED_TRACE(tiny);
    problem.source.weights = Vector::Ones(24);
    problem.target.weights = Vector::Ones(30);
    problem.source.weights[4] = problem.target.weights[9] = tiny;
    ends_well(problem);
    for (Index i = 2; i < 24; i += 3) problem.source.weights[i] = tiny;  // a whole class
    ends_well(problem);
  }
}

}  // namespace
}  // namespace remblai
