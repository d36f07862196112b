// A class-aware model holds what its equations say: shares, costs, plan, moves, head and metric.
#include "fit/class_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fit/class_test_tools.h"
#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

using test::class_aware;
using test::class_problem;
using test::difference;
using test::one_hot;

// Problems of few and of many dimensions, with and without weights.
std::vector<Problem> weighted_and_plain() {
  std::vector<Problem> all{class_problem(3, 30, 36, 4, 1, 2), class_problem(4, 20, 18, 60, 2, 1)};
  all.push_back(class_problem(2, 24, 30, 3, 3, 1.5));
  all.back().source.weights = test::random_weights(24, 1);
  all.back().target.weights = test::random_weights(30, 2);
  return all;
}

std::vector<Index> places_of(const Model& model) {
  return test::places_in(model.classes->classes, model.source.labels);
}

Matrix moved(const Model& model, const Matrix& moves) {
  return model.source.points + moves(places_of(model), Eigen::all);
}

TEST(ClassStep, RowSumsOfThePlanFollowTheShares) {
  for (const double lambda : {by_method, 0.0, 1.0})
    for (const Problem& problem : weighted_and_plain()) {
      Options options = class_aware();
      options.lambda = lambda;
      const Model model = fit(problem, options);
      ASSERT_TRUE(model.status.converged()) << model.status.reason();
      const ClassModel& classes = *model.classes;
      const Matrix g = plan(model);
      const std::vector<Index> places = places_of(model);
      const Vector by_class =
          one_hot(places, classes.classes.size()).transpose() * g.rowwise().sum();
      EXPECT_LT(difference(by_class, classes.shares), 1e-7);
      EXPECT_NEAR(classes.shares.sum(), 1, 1e-9);
      // Within a class the weights of the source decide.
      for (Index i = 0; i < g.rows(); ++i) {
        const Index k = places[static_cast<std::size_t>(i)];
        EXPECT_NEAR(g.row(i).sum(),
                    model.source.weights[i] / classes.source_shares[k] * classes.shares[k], 1e-7);
      }
      EXPECT_LT(difference(g.colwise().sum().transpose(), model.target.weights), 1e-7);
    }
}

TEST(ClassStep, ThePlanIsThatOfTheMovedPointsAndTheOpinions) {
  for (const Problem& problem : weighted_and_plain()) {
    const Model model = fit(problem, class_aware());
    const ClassModel& classes = *model.classes;
    const Matrix x = moved(model, classes.plan_moves);
    const Matrix distances = model.metric.distances(x, model.target.points);
    const std::vector<Index> places = places_of(model);
    Matrix g(x.rows(), model.target.size());
    for (Index i = 0; i < g.rows(); ++i)
      for (Index j = 0; j < g.cols(); ++j) {
        const double opinion = classes.opinions(j, places[static_cast<std::size_t>(i)]);
        const double cost = distances(i, j) * distances(i, j) -
                            classes.class_cost * std::log(std::max(opinion, 1e-6));
        g(i, j) = std::exp((model.f[i] + model.g[j] - cost) / model.lambda);
      }
    EXPECT_LT(difference(g, plan(model)), 1e-8);
    const double mean = model.source.weights.dot(distances.cwiseAbs2() * model.target.weights);
    EXPECT_NEAR(model.lambda, 0.1 * mean, 1e-8 * mean);
    EXPECT_NEAR(classes.class_cost, 0.5 * model.lambda, 1e-10 * model.lambda);
  }
}

TEST(ClassStep, TheMapIsTheBarycentresOfThePlan) {
  for (const double lambda : {by_method, 0.0})
    for (const Problem& problem : weighted_and_plain()) {
      Options options = class_aware();
      options.lambda = lambda;
      const Model model = fit(problem, options);
      const Matrix g = plan(model);
      const Vector rows = g.rowwise().sum(), columns = g.colwise().sum();
      EXPECT_LT(
          difference(map(model), rows.cwiseInverse().asDiagonal() * g * problem.target.points),
          1e-7);
      EXPECT_LT(difference(map_back(model), columns.cwiseInverse().asDiagonal() * g.transpose() *
                                                problem.source.points),
                1e-7);
    }
}

TEST(ClassStep, SharesAndOpinionsAreThoseOfTheClassifierOfTheLastPlan) {
  for (const Caution caution : {Caution::cautious, Caution::bold})
    for (const Problem& problem : weighted_and_plain()) {
      Options options = class_aware();
      options.classes.caution = caution;
      const Model model = fit(problem, options);
      const ClassModel& classes = *model.classes;
      EXPECT_EQ(classes.cautious, caution == Caution::cautious);
      const Matrix z = model.metric.embed(model.target.points);
      const Matrix p = classes.opinion.probabilities(classes.opinion.scores(z));
      const Vector ratio = classes.shares.cwiseQuotient(classes.source_shares);
      Matrix r = p * ratio.asDiagonal();
      for (Index j = 0; j < r.rows(); ++j) r.row(j) /= r.row(j).sum();
      EXPECT_LT(difference(classes.opinions, r), 1e-9);
      // h_k = (n sum_j q_j R_jk + alpha_k)/(n + sum alpha).
      const auto n = static_cast<double>(r.rows());
      const double doubt = (1 - classes.reliability) / classes.reliability;
      const double pull = caution == Caution::cautious ? n * doubt * doubt : 0;
      const Vector alpha = pull * classes.source_shares.array() + 0.5;
      const Vector h = (n * (r.transpose() * model.target.weights) + alpha) / (n + alpha.sum());
      EXPECT_LT((h - classes.shares).lpNorm<1>(), 1e-5);
      EXPECT_LE(classes.reliability, classes.left_out);
    }
}

TEST(ClassStep, MovesAreTheShrunkDisplacementsOfTheMap) {
  for (const auto& [translation, steps] :
       {std::pair{Translation::no, 3}, {Translation::yes, 3}, {Translation::no, 2}})
    for (const Problem& problem : weighted_and_plain()) {
      Options options = class_aware();
      options.classes.translation = translation;
      options.steps = steps;
      const Model model = fit(problem, options);
      const ClassModel& classes = *model.classes;
      EXPECT_EQ(classes.translated, translation == Translation::yes);
      const Index k = classes.classes.size(), d = problem.source.dimension();
      Eigen::RowVectorXd shift = Eigen::RowVectorXd::Zero(d);
      if (classes.translated)
        shift = model.target.weights.transpose() * model.target.points -
                model.source.weights.transpose() * model.source.points;
      const Matrix members = one_hot(places_of(model), k);
      const Matrix way = (map(model) - model.source.points).rowwise() - shift;
      const Matrix mean = classes.source_shares.cwiseInverse().asDiagonal() * members.transpose() *
                          model.source.weights.asDiagonal() * way;
      const Eigen::RowVectorXd common = classes.shares.transpose() * mean;
      for (Index c = 0; c < k; ++c)
        EXPECT_LT(difference(classes.moves.row(c), shift + classes.common_trust * common +
                                                       classes.trust[c] * (mean.row(c) - common)),
                  1e-6);
      // The trust is that of the spread of the source within its classes, in the metric.
      const Matrix a = model.metric.matrix();
      const Matrix centre = classes.source_shares.cwiseInverse().asDiagonal() *
                            members.transpose() * model.source.weights.asDiagonal() *
                            model.source.points;
      const Matrix within = model.source.points - members * centre;
      const double noise =
          model.source.weights.dot((within * a).cwiseProduct(within).rowwise().sum());
      const Vector squares = members.transpose() * model.source.weights.cwiseAbs2();
      const Vector inverse_counts = squares.cwiseQuotient(classes.source_shares.cwiseAbs2());
      const double inverse_n = model.target.weights.squaredNorm();
      for (Index c = 0; c < k; ++c) {
        const Eigen::RowVectorXd rest = mean.row(c) - common;
        const double variance = inverse_counts[c] + inverse_n / classes.shares[c];
        EXPECT_NEAR(classes.trust[c],
                    std::max(0.0, 1 - noise * variance / (rest * a * rest.transpose()).value()),
                    1e-6);
        const Eigen::RowVectorXd move = classes.moves.row(c);
        EXPECT_NEAR(classes.move_lengths[c],
                    std::sqrt((move * a * move.transpose()).value() / noise), 1e-6);
      }
    }
}

// The head is a regression on the moved source points and on the target points with the shares
// that the plan gives them. Classes whose share fell by more than half weigh less.
TEST(ClassStep, TheHeadLearnsFromBothDomains) {
  int kernels = 0, fallen = 0;
  for (const Problem& problem : weighted_and_plain()) {
    const Model model = fit(problem, class_aware());
    const ClassModel& classes = *model.classes;
    const Classifier& head = classes.head;
    const Index m = problem.source.size(), n = problem.target.size(), k = classes.classes.size();
    const Matrix members = one_hot(places_of(model), k);
    const Matrix shares =
        model.target.weights.cwiseInverse().asDiagonal() * plan(model).transpose() * members;
    Matrix points(n + m, model.metric.rank()), targets(n + m, k);
    points << model.metric.embed(model.target.points),
        model.metric.embed(moved(model, classes.moves));
    targets << shares, members;
    Vector weights(n + m);
    weights << n * model.target.weights, m * model.source.weights;
    for (Index i = 0; i < m; ++i) {
      const Index place = places_of(model)[static_cast<std::size_t>(i)];
      const double ratio = classes.shares[place] / classes.source_shares[place];
      if (ratio < 0.5) weights[n + i] *= std::max(2 * ratio, 1e-3);
      fallen += ratio < 0.5;
    }
    const Vector biases = 0.5 * classes.shares.array().log();
    EXPECT_LT(difference(head.biases, head.width > 0 ? Vector::Zero(k) : biases), 1e-12);
    if (head.width == 0) {
      const Matrix weighted = weights.asDiagonal() * targets;
      const Vector totals = weighted.colwise().sum();
      EXPECT_LT(difference(head.points,
                           totals.cwiseInverse().asDiagonal() * weighted.transpose() * points),
                1e-7);
      continue;
    }
    ++kernels;
    EXPECT_LT(difference(head.points, points), 1e-10);
    Matrix system = test::plain_kernel(points, points, head.width);
    system.diagonal() += 0.1 * weights.cwiseInverse();
    EXPECT_LT(
        difference((system * head.coefficients).array() + 1 / static_cast<double>(k), targets),
        1e-6);
  }
  EXPECT_GT(kernels, 0);
  EXPECT_GT(fallen, 0);
}

// After one step A (C + 3 tau I) A is a multiple of D = S/tau + 0.01 I, C being twice the scatter
// of the source within its classes. Where the source is not translated the geodesic has its weight.
TEST(ClassStep, TheFirstMetricComesFromTheScatterWithinClasses) {
  Options options = class_aware();
  options.steps = 1;
  options.classes.translation = Translation::no;
  for (const Problem& problem : weighted_and_plain()) {
    const Model model = fit(problem, options);
    const Index d = problem.source.dimension();
    const auto covariance = [](const Domain& domain) {
      const Eigen::RowVectorXd mean = domain.weights.transpose() * domain.points;
      const Matrix centred = domain.points.rowwise() - mean;
      return Matrix(centred.transpose() * domain.weights.asDiagonal() * centred);
    };
    const Matrix s = (covariance(model.source) + covariance(model.target)) / 2;
    const double tau = s.squaredNorm() / s.trace();
    const Matrix prior = s / tau + 0.01 * Matrix::Identity(d, d);
    const Matrix members = one_hot(places_of(model), model.classes->classes.size());
    const Matrix centres = model.classes->source_shares.cwiseInverse().asDiagonal() *
                           members.transpose() * model.source.weights.asDiagonal() *
                           model.source.points;
    const Matrix within = model.source.points - members * centres;
    const Matrix c = 2 * within.transpose() * model.source.weights.asDiagonal() * within +
                     3 * tau * Matrix::Identity(d, d);
    const Matrix a = model.metric.matrix();
    const Matrix product = a * c * a;
    EXPECT_LT((product / product.norm() - prior / prior.norm()).norm(), 1e-8);
  }
}

}  // namespace
}  // namespace remblai
