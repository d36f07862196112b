// The classes of a problem, and what the class-aware method refuses.
#include "fit/class_problem.h"

#include <gtest/gtest.h>

#include <limits>

#include "fit/class_test_tools.h"
#include "remblai/fit.h"

namespace remblai {
namespace {

using test::class_aware;
using test::class_problem;
using test::contains;
using test::difference;
using test::message_of;
using test::PlacedProblem;

std::string complaint_of_fit(const Problem& problem, const Options& options = class_aware()) {
  return message_of([&] { fit(problem, options); });
}

TEST(ClassProblem, ClassesAreTheLabelsInAscendingOrder) {
  Problem problem = class_problem(3, 6, 5, 2);
  problem.source.labels << 900, -7, 0, 900, 900, 0;
  const ClassProblem classes = PlacedProblem(problem).classes;
  EXPECT_EQ(classes.classes, (Labels{{-7, 0, 900}}));
  EXPECT_EQ(classes.places, (std::vector<Index>{2, 0, 1, 2, 2, 1}));
  EXPECT_EQ(classes.members, test::one_hot(classes.places, 3));
  EXPECT_LT(difference(classes.shares, Vector{{1.0 / 6, 2.0 / 6, 3.0 / 6}}), 1e-15);
  EXPECT_LT(difference(classes.counts, Vector{{1, 2, 3}}), 1e-14);
  EXPECT_NEAR(classes.source_count, 6, 1e-13);
  EXPECT_NEAR(classes.target_count, 5, 1e-13);
}

// (sum w)^2 / sum w^2 points of one weight would be worth as much.
TEST(ClassProblem, WeightsMakeEffectiveCounts) {
  Problem problem = class_problem(2, 5, 3, 2);
  problem.source.labels << 1, 1, 1, 2, 2;
  problem.source.weights = Vector{{1, 2, 3, 5, 0}};
  problem.target.weights = Vector{{2, 0, 2}};
  const ClassProblem classes = PlacedProblem(problem).classes;
  EXPECT_LT(difference(classes.shares, Vector{{6.0 / 11, 5.0 / 11}}), 1e-14);
  EXPECT_LT(difference(classes.counts, Vector{{36.0 / 14, 1}}), 1e-13);
  EXPECT_NEAR(classes.source_count, 121.0 / 39, 1e-13);
  EXPECT_NEAR(classes.target_count, 2, 1e-13);
}

TEST(ClassProblem, MeansAreWeighted) {
  Problem problem = class_problem(3, 12, 5, 4);
  problem.source.weights = test::random_weights(12, 1);
  const PlacedProblem placed(problem);
  const Matrix rows = test::random_matrix(12, 3, 2);
  const Matrix means = placed.classes.class_means(rows);
  const Matrix within = placed.classes.within(rows);
  for (Index k = 0; k < 3; ++k) {
    Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(3), rest = sum;
    double weight = 0;
    for (Index i = k; i < 12; i += 3) {
      sum += problem.source.weights[i] * rows.row(i);
      rest += problem.source.weights[i] * within.row(i);
      weight += problem.source.weights[i];
    }
    EXPECT_LT(difference(means.row(k), sum / weight), 1e-14) << k;
    EXPECT_LT(rest.norm(), 1e-14) << k;
  }
}

TEST(ClassProblem, KnownLabelsAreCountedAmongThePointsOfPositiveWeight) {
  Problem problem = class_problem(2, 6, 5, 2);
  problem.target.weights = Vector{{1, 0, 1, 1, 1}};
  problem.known_labels = Labels{{-1, 2, 5, -1, 2}};
  const ClassProblem classes = PlacedProblem(problem).classes;
  EXPECT_EQ(classes.known, (std::vector<Index>{1, 3}));
  EXPECT_EQ(classes.known_places, (std::vector<Index>{1, 0}));
}

TEST(ClassAwareInput, SourceLabelsAreNeeded) {
  Problem problem = class_problem(3, 12, 10, 3);
  problem.source.labels.resize(0);
  const std::string message = complaint_of_fit(problem);
  EXPECT_EQ(message.rfind("Problem::source.labels: ", 0), 0u) << message;
  EXPECT_TRUE(contains(message, "Options::method")) << message;
  EXPECT_EQ(complaint_of_fit(problem, {}), "");
}

TEST(ClassAwareInput, TargetSharesFitTheClasses) {
  const Problem problem = class_problem(3, 12, 10, 3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Matrix& shares :
       {Matrix{{0.5, 0.5}}, Matrix{{0.25, 0.25, 0.25, 0.25}}, Matrix{{0.5, 0.6, -0.1}},
        Matrix{{0, 0, 0}}, Matrix{{1, 1, nan}}, Matrix{{1, 1, infinity}}, Matrix()}) {
    Options options = class_aware();
    options.classes.target_shares = shares;
    const std::string message = complaint_of_fit(problem, options);
    EXPECT_EQ(message.rfind("ClassOptions::target_shares: ", 0), 0u) << shares << "\n" << message;
    EXPECT_TRUE(contains(message, "give one number for each")) << message;
    EXPECT_TRUE(shares.size() == 3 || contains(message, "3 classes")) << message;
  }
  Options column = class_aware();
  column.classes.target_shares = Matrix{{0.2}, {0.3}, {0.5}};
  EXPECT_EQ(complaint_of_fit(problem, column), "");
}

TEST(ClassAwareInput, KnownLabelsFitTheTargetAndTheSource) {
  Problem problem = class_problem(3, 12, 10, 3);
  for (const Index size : {1, 9, 11}) {
    problem.known_labels = Labels::Constant(size, unknown_label);
    const std::string message = complaint_of_fit(problem);
    EXPECT_EQ(message.rfind("Problem::known_labels: ", 0), 0u) << message;
    EXPECT_TRUE(contains(message, "10 target points")) << message;
  }
  problem.known_labels = Labels::Constant(10, unknown_label);
  problem.known_labels[3] = 4;
  const std::string message = complaint_of_fit(problem);
  EXPECT_EQ(message.rfind("Problem::known_labels: ", 0), 0u) << message;
  EXPECT_TRUE(contains(message, "label 4 of target point 4")) << message;
  problem.known_labels[3] = 5;
  EXPECT_EQ(complaint_of_fit(problem), "");
}

// A label that only points of weight 0 have is no class of the fit.
TEST(ClassAwareInput, AKnownLabelOfPointsWithoutWeightIsRefused) {
  Problem problem = class_problem(2, 8, 6, 3);
  problem.source.labels[7] = 100;
  problem.source.weights = Vector::Ones(8);
  problem.source.weights[7] = 0;
  problem.known_labels = Labels::Constant(6, unknown_label);
  problem.known_labels[0] = 100;
  EXPECT_TRUE(contains(complaint_of_fit(problem), "label 100 of target point 1"));
  EXPECT_TRUE(contains(complaint_of_fit(problem), "no source point with a weight"));
}

TEST(ClassAwareInput, RelaxedMarginalsDoNotGoWithClasses) {
  const Problem problem = class_problem(2, 8, 6, 3);
  Options options = class_aware();
  options.relax_source = 1;
  EXPECT_EQ(complaint_of_fit(problem, options).rfind("Options::relax_source: 1 ", 0), 0u);
  options.relax_source = 0;
  options.relax_target = 2;
  EXPECT_EQ(complaint_of_fit(problem, options).rfind("Options::relax_target: 2 ", 0), 0u);
  options.relax_source = 0.5;
  EXPECT_EQ(complaint_of_fit(problem, options).rfind("Options::relax_source: 0.5 ", 0), 0u)
      << complaint_of_fit(problem, options);
}

// What would have no effect is a mistake.
TEST(ClassAwareInput, ThePapersMethodKnowsNoClasses) {
  Problem problem = class_problem(2, 8, 6, 3);
  Options options;
  options.classes.opinion = 0.7;
  EXPECT_EQ(complaint_of_fit(problem, options).rfind("ClassOptions::opinion: ", 0), 0u);
  options = {};
  options.classes.target_shares = Matrix{{0.5, 0.5}};
  EXPECT_EQ(complaint_of_fit(problem, options).rfind("ClassOptions::target_shares: ", 0), 0u);
  problem.known_labels = Labels::Constant(6, unknown_label);
  EXPECT_EQ(complaint_of_fit(problem, {}).rfind("Problem::known_labels: ", 0), 0u)
      << complaint_of_fit(problem, {});
}

TEST(ClassAwareInput, HellingerNeedsHistograms) {
  Problem problem = class_problem(2, 8, 6, 3);
  problem.source.points = problem.source.points.cwiseAbs();
  problem.target.points = problem.target.points.cwiseAbs();
  Options options = class_aware();
  options.preprocess = Preprocess::hellinger;
  EXPECT_EQ(complaint_of_fit(problem, options), "");
  problem.target.points(2, 1) = -1e-9;
  const std::string message = complaint_of_fit(problem, options);
  EXPECT_EQ(message.rfind("Options::preprocess: hellinger", 0), 0u) << message;
  EXPECT_TRUE(contains(message, "row 3, column 2")) << message;
}

}  // namespace
}  // namespace remblai
