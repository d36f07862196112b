// What a caller may give a class-aware fit: shares, labels of target points, a metric, no lambda.
#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"
#include "remblai/evaluate.h"
#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "remblai/report.h"

namespace remblai {
namespace {

using test::agreement;
using test::class_aware;
using test::class_problem;
using test::contains;
using test::difference;
using test::message_of;

// Only the points of the first classes are left.
void keep_classes(Domain& domain, Index count) {
  std::vector<Index> rows;
  for (Index i = 0; i < domain.size(); ++i)
    if (domain.labels[i] < 3 * count + 2) rows.push_back(i);
  domain.points = Matrix(domain.points(rows, Eigen::all));
  domain.labels = Labels(domain.labels(rows));
}

TEST(ClassAwareOptions, GivenSharesAreUsed) {
  const Problem problem = class_problem(3, 30, 36, 4, 1, 2);
  const Vector shares{{0.2, 0.7, 0.1}};
  for (const double unit : {1.0, 50.0}) {
    Options options = class_aware();
    options.classes.target_shares = Matrix(unit * shares.transpose());
    const Model model = fit(problem, options);
    EXPECT_LT(difference(model.classes->shares, shares), 1e-12);
    const Matrix members =
        test::one_hot(test::places_in(model.classes->classes, problem.source.labels), 3);
    EXPECT_LT(difference(members.transpose() * plan(model).rowwise().sum(), shares), 1e-7);
  }
  Options options = class_aware();
  options.classes.target_shares = SharesChoice::uniform;
  EXPECT_LT(difference(fit(problem, options).classes->shares, Vector::Constant(3, 1.0 / 3)), 1e-12);
  options.classes.target_shares = SharesChoice::source;
  const Model model = fit(problem, options);
  EXPECT_LT(difference(model.classes->shares, model.classes->source_shares), 1e-12);
}

// A class that the target does not have.
TEST(ClassAwareOptions, AShareOfZeroKeepsAClassAway) {
  Problem problem = class_problem(3, 30, 36, 4, 1, 2);
  for (const double lambda : {by_method, 0.0}) {
    Options options = class_aware();
    options.lambda = lambda;
    options.classes.target_shares = Matrix{{0.6, 0, 0.4}};
    const Model model = fit(problem, options);
    EXPECT_TRUE(model.status.converged()) << model.status.reason();
    EXPECT_TRUE(map(model).allFinite());
    EXPECT_TRUE(model.classes->moves.allFinite()) << lambda << "\n" << model.classes->moves;
    const ClassShares found = probabilities(model, problem.target.points);
    ASSERT_TRUE(found.shares.allFinite()) << lambda;
    EXPECT_LT(propagate(model, problem.target.points).shares.col(1).maxCoeff(), 1e-3);
  }
}

// Without a prior the shares may be the maximum of the likelihood itself, which is at a corner
// where the target has no point of a class.
TEST(ClassAwareOptions, NoPriorAndATargetOfOneClass) {
  for (const Index classes : {2, 4})
    for (const double apart : {10.0, 100.0})
      for (const double width : {0.8, 1e-3}) {  // kernels, then class means
        SCOPED_TRACE(testing::Message() << classes << " " << apart << " " << width);
        Problem problem = class_problem(classes, 40, 30, 3, 2, apart);
        keep_classes(problem.target, 1);
        Options options = class_aware();
        options.classes.share_prior = 0;
        options.classes.kernel_width = width;
        options.classes.translation = Translation::no;
        options.classes.caution = Caution::bold;
        Model model;
        EXPECT_EQ(test::message_of([&] { model = fit(problem, options); }), "");
        if (!model.classes) continue;
        EXPECT_TRUE(model.status.converged()) << model.status.reason();
        EXPECT_TRUE(map(model).allFinite());
        EXPECT_EQ(predict(model, problem.target.points), problem.target.labels);
      }
}

// Classes far apart at the same places in both domains, of which the target lacks some: the
// nearest source point is of the right class everywhere.
TEST(ClassAwareOptions, ClassesThatTheTargetLacksSpoilNoLabels) {
  for (const auto& [classes, present] : {std::pair<Index, Index>{2, 1}, {3, 2}, {5, 2}, {10, 5}}) {
    double right = 0;
    for (unsigned seed = 0; seed < 4; ++seed) {
      Problem problem = class_problem(classes, 20 * classes, 90, 5, 20 + seed, 10, 0);
      keep_classes(problem.target, present);
      const Matrix& points = problem.target.points;
      ASSERT_EQ(nearest_labels(problem.source.points, problem.source.labels, points),
                problem.target.labels);
      right += agreement(predict(fit(problem, class_aware()), points), problem.target.labels) / 4;
    }
    EXPECT_GT(right, 0.95) << present << " of " << classes << " classes";
  }
}

// A lambda that no plan can be made with: the fit says so, and its model still answers and is kept.
TEST(ClassAwareOptions, AFitThatBreaksDownLeavesAWholeModel) {
  Problem problem = class_problem(3, 20, 24, 4, 1, 3);
  problem.source.points *= 100;
  problem.target.points *= 100;
  Options options = class_aware();
  options.lambda_unit = Unit::absolute;
  options.lambda = 1e-300;
  const Model model = fit(problem, options);
  ASSERT_EQ(model.status.outcome, Outcome::diverged) << model.status.reason();
  ASSERT_TRUE(model.classes);
  EXPECT_TRUE(probabilities(model, problem.target.points).shares.allFinite());
  EXPECT_EQ(model.classes->trust, Vector::Zero(3));
  EXPECT_EQ(model.classes->move_lengths, Vector::Zero(3));
  Options huge = class_aware();
  huge.lambda_unit = Unit::absolute;
  huge.lambda = 1e306;
  EXPECT_TRUE(contains(test::message_of([&] { fit(problem, huge); }), "lambda"));
}

TEST(ClassAwareOptions, KnownLabelsAreTheOpinion) {
  Problem problem = class_problem(3, 30, 36, 4, 3, 1);
  problem.known_labels = Labels::Constant(36, unknown_label);
  for (const Index j : {0, 5, 11, 30}) problem.known_labels[j] = j % 2 ? 8 : 5;
  const Model model = fit(problem, class_aware());
  const Matrix& opinions = model.classes->opinions;
  EXPECT_LT(difference(opinions.rowwise().sum(), Matrix::Ones(36, 1)), 1e-12);
  for (Index j = 0; j < 36; ++j)
    if (problem.known_labels[j] == unknown_label) {
      EXPECT_LT(opinions.row(j).maxCoeff(), 1) << j;
    } else {
      EXPECT_EQ(opinions.row(j), test::one_hot({j % 2 ? 2 : 1}, 3)) << j;
    }
}

// Classes that have changed places: nothing but labels can tell.
TEST(ClassAwareOptions, KnownLabelsLeadWhereTheSourceMisleads) {
  Problem problem = class_problem(2, 30, 40, 3, 4, 4, 0);
  for (Index j = 0; j < 40; ++j) problem.target.labels[j] = problem.target.labels[j] == 2 ? 5 : 2;
  const auto right = [&] {
    return agreement(predict(fit(problem, class_aware()), problem.target.points),
                     problem.target.labels);
  };
  EXPECT_LT(right(), 0.1);
  problem.known_labels = problem.target.labels;
  EXPECT_GT(right(), 0.9);
}

TEST(ClassAwareOptions, FixedMetricsStayFixed) {
  const Problem problem = class_problem(3, 30, 36, 5, 5, 3);
  const Matrix own = test::random_spd(5, 10, 1);
  for (const bool given : {false, true}) {
    Options options = class_aware();
    if (given)
      options.metric = own;
    else
      options.metric = MetricChoice::identity;
    const Model model = fit(problem, options);
    EXPECT_TRUE(model.status.converged()) << model.status.reason();
    EXPECT_EQ(model.history.size(), 3u);
    EXPECT_LT(difference(model.metric.matrix(), given ? own : Matrix::Identity(5, 5)), 1e-12);
    EXPECT_GT(agreement(predict(model, problem.target.points), problem.target.labels), 0.95);
  }
  // The identity is the metric that is given as such.
  Options identity = class_aware(), matrix = class_aware();
  identity.metric = MetricChoice::identity;
  matrix.metric = Matrix(Matrix::Identity(5, 5));
  EXPECT_LT(difference(plan(fit(problem, identity)), plan(fit(problem, matrix))), 1e-7);
  for (const MetricChoice metric : {MetricChoice::w, MetricChoice::w_inverse}) {
    Options options = class_aware();
    options.metric = metric;
    EXPECT_TRUE(fit(problem, options).status.converged());
  }
}

TEST(ClassAwareOptions, ExactPlansAreSparse) {
  const Problem problem = class_problem(3, 30, 36, 4, 6, 3);
  Options options = class_aware();
  options.lambda = 0;
  const Model model = fit(problem, options);
  EXPECT_TRUE(model.status.converged()) << model.status.reason();
  EXPECT_LE(model.exact.size(), 30u + 36u - 1);
  EXPECT_EQ(model.lambda, 0);
  EXPECT_GT(model.classes->class_cost, 0);
  EXPECT_GT(agreement(predict(model, problem.target.points), problem.target.labels), 0.9);
  EXPECT_LT(difference(map(model, problem.source.points), map(model)), 1e-9);
  EXPECT_LT(difference(map_back(model, problem.target.points), map_back(model)), 1e-9);
}

// A model knows which labels it was given, also from a file.
TEST(ClassAwareOptions, GivenLabelsAreNotScored) {
  Problem problem = class_problem(3, 30, 36, 4, 1, 1);
  EXPECT_EQ(known_labels(fit(problem, class_aware())).size(), 0);
  problem.known_labels = Labels::Constant(36, unknown_label);
  problem.known_labels.head(20) = problem.target.labels.head(20);
  const Model model = fit(problem, class_aware());
  EXPECT_EQ(known_labels(model), problem.known_labels);
  const Labels found = predict(model, problem.target.points);
  const Score score =
      evaluate(found, problem.target.labels, problem.source.labels, known_labels(model));
  EXPECT_EQ(score.given, 20);
  EXPECT_EQ(score.scored, 16);
  EXPECT_EQ(score.correct,
            (found.tail(16).array() == problem.target.labels.tail(16).array()).count());
  EXPECT_NE(message_of([&] { evaluate(found, problem.target.labels, {}, found.head(3)); }), "");
  EXPECT_TRUE(contains(summary(model, {.target_score = score}),
                       "on the target without the 20 whose label was given"));
}

// The points are not to blame.
TEST(ClassAwareOptions, ALambdaOrOpinionThatIsTooLargeIsNamed) {
  const Problem problem = class_problem(2, 12, 15, 3);
  for (const double huge : {1e160, 1e300}) {
    Options options = class_aware();
    options.lambda = huge;
    EXPECT_EQ(message_of([&] { fit(problem, options); }).rfind("Options::lambda: 1e+", 0), 0u);
    options = class_aware();
    options.classes.opinion = huge;
    EXPECT_EQ(message_of([&] { fit(problem, options); }).rfind("ClassOptions::opinion: 1e+", 0),
              0u);
  }
}

// Without an opinion the plan is that of the moved points alone.
TEST(ClassAwareOptions, AnOpinionOfNoWeightCostsNothing) {
  const Problem problem = class_problem(3, 30, 36, 4, 7, 2);
  Options options = class_aware();
  options.classes.opinion = 0;
  EXPECT_EQ(fit(problem, options).classes->class_cost, 0);
}

TEST(ClassAwareOptions, FewLandmarksGiveAboutTheSameLabels) {
  const Problem problem = class_problem(3, 60, 90, 3, 8, 3);
  Options options = class_aware();
  const Labels exact = predict(fit(problem, options), problem.target.points);
  options.classes.landmarks = 40;
  const Model model = fit(problem, options);
  EXPECT_TRUE(model.status.converged());
  EXPECT_GT(agreement(predict(model, problem.target.points), exact), 0.95);
  options.classes.landmarks = 10;
  EXPECT_TRUE(probabilities(fit(problem, options), problem.target.points).shares.allFinite());
}

// Pure label shift needs no translation; a target that is moved as a whole does.
TEST(ClassAwareOptions, TheExplanationIsFound) {
  EXPECT_FALSE(fit(class_problem(3, 90, 90, 3, 9, 3, 0), class_aware()).classes->translated);
  const Problem moved = class_problem(3, 90, 90, 3, 9, 3, 20);
  const Model model = fit(moved, class_aware());
  EXPECT_TRUE(model.classes->translated);
}

TEST(ClassAwareOptions, AModelOfTheSamePointsIsAStart) {
  const Problem problem = class_problem(3, 30, 36, 4, 10, 2);
  const Model paper = fit(problem, {.lambda = 0.2}), before = fit(problem, class_aware());
  for (const Model* start : {&paper, &before}) {
    const Model model = fit(problem, class_aware(), {}, start);
    EXPECT_TRUE(model.status.converged()) << model.status.reason();
    EXPECT_GT(
        agreement(predict(model, problem.target.points), predict(before, problem.target.points)),
        0.95);
  }
  EXPECT_TRUE(fit(problem, {.lambda = 0.2}, {}, &before).status.converged());
}

}  // namespace
}  // namespace remblai
