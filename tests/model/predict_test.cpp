// Neighbours, propagation and distances against their definitions.
#include "remblai/predict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "remblai/evaluate.h"
#include "remblai/fit.h"
#include "remblai/map.h"
#include "support.h"

namespace remblai {
namespace {

using test::contains;
using test::difference;
using test::message_of;
using test::random_matrix;
using test::small_problem;

Options five_steps(double lambda = 0.05) {
  Options options;
  options.lambda = lambda;
  options.steps = 5;
  return options;
}

Labels labels_of(std::initializer_list<std::int64_t> values) {
  Labels labels(static_cast<Index>(values.size()));
  std::copy(values.begin(), values.end(), labels.begin());
  return labels;
}

Matrix column(std::initializer_list<double> values) {
  Matrix points(static_cast<Index>(values.size()), 1);
  std::copy(values.begin(), values.end(), points.data());
  return points;
}

std::int64_t nearest(std::initializer_list<double> points,
                     std::initializer_list<std::int64_t> labels, int neighbours) {
  return nearest_labels(column(points), labels_of(labels), column({0}), neighbours)(0);
}

TEST(Neighbours, one_takes_the_nearest) {
  const Labels found =
      nearest_labels(column({0, 10, 20}), labels_of({5, -6, 7}), column({1, 9, 100, 14}), 1);
  EXPECT_EQ(found, labels_of({5, -6, 7, -6}));
}

TEST(Neighbours, majority_beats_the_nearest) {
  EXPECT_EQ(nearest({1, 2, 3, 9}, {5, 8, 8, 5}, 3), 8);
  EXPECT_EQ(nearest({9, 3, 2, 1}, {5, 8, 8, 5}, 3), 8);
  EXPECT_EQ(nearest({1, 2, 3, 9}, {5, 8, 8, 5}, 1), 5);
}

TEST(Neighbours, among_equal_votes_the_nearest_voter_wins) {
  EXPECT_EQ(nearest({3, 1, 2}, {9, 8, 7}, 3), 8);
  EXPECT_EQ(nearest({4, 3, 2, 1}, {1, 2, 1, 2}, 4), 2);
  EXPECT_EQ(nearest({1, 2, 3, 4}, {1, 2, 2, 1}, 4), 1);
  EXPECT_EQ(nearest({-1, 2}, {4, 3}, 2), 4);
}

TEST(Neighbours, all_there_are_may_vote_but_no_more) {
  EXPECT_EQ(nearest({1, 2, 3}, {4, 5, 5}, 3), 5);
  EXPECT_THROW(nearest({1, 2, 3}, {4, 5, 5}, 4), Error);
  EXPECT_THROW(nearest({1, 2, 3}, {4, 5, 5}, 1000), Error);
}

TEST(Neighbours, equal_distances_keep_the_order_of_the_points) {
  EXPECT_EQ(nearest({1, -1}, {6, 5}, 1), 6);
  EXPECT_EQ(nearest({-1, 1}, {6, 5}, 1), 6);
  EXPECT_EQ(nearest({2, 1, -1, 1}, {6, 3, 4, 5}, 1), 3);
}

TEST(Neighbours, agree_with_brute_force) {
  const Matrix known = random_matrix(60, 3, 1), points = random_matrix(80, 3, 2);
  Labels labels(60);
  for (Index i = 0; i < 60; ++i) labels(i) = i;
  const Labels found = nearest_labels(known, labels, points);
  for (Index i = 0; i < points.rows(); ++i) {
    Index best = 0;
    (known.rowwise() - points.row(i)).rowwise().squaredNorm().minCoeff(&best);
    EXPECT_EQ(found(i), best);
  }
}

// Far from zero |a|^2 + |b|^2 - 2ab loses every digit of the distance.
TEST(Neighbours, do_not_mind_where_zero_is) {
  const Matrix known = random_matrix(40, 3, 1), points = random_matrix(50, 3, 2);
  Labels labels(40);
  for (Index i = 0; i < 40; ++i) labels(i) = i;
  const Labels found = nearest_labels(known, labels, points);
  for (const double offset : {1e6, 1e9})
    EXPECT_EQ(nearest_labels(known.array() + offset, labels, points.array() + offset), found)
        << offset;
}

TEST(Neighbours, work_at_every_scale) {
  const Matrix known = random_matrix(40, 3, 1), points = random_matrix(50, 3, 2);
  Labels labels(40);
  for (Index i = 0; i < 40; ++i) labels(i) = i;
  const Labels found = nearest_labels(known, labels, points);
  for (const double scale : {0x1p332, 0x1p-332})
    EXPECT_EQ(nearest_labels(scale * known, labels, scale * points), found) << scale;
}

TEST(Neighbours, refuse_sizes_that_do_not_fit) {
  const Matrix known = random_matrix(4, 2, 1), points = random_matrix(3, 2, 2);
  const Labels labels = labels_of({1, 2, 3, 4});
  EXPECT_THROW(nearest_labels(known, labels_of({1, 2, 3}), points), Error);
  EXPECT_THROW(nearest_labels(known, labels, random_matrix(3, 3, 2)), Error);
  EXPECT_THROW(nearest_labels(Matrix(0, 2), Labels(), points), Error);
  EXPECT_THROW(nearest_labels(known, labels, points, 0), Error);
  const int more = static_cast<int>(known.rows()) + 1;
  for (const std::string& message :
       {test::message_of([&] { nearest_labels(known, labels, points, more); }),
        test::message_of(
            [&] { nearest_labels_by_distance(Matrix::Zero(1, more - 1), labels, more); })}) {
    EXPECT_EQ(message.rfind("PredictOptions::neighbours: " + std::to_string(more), 0), 0u)
        << message;
    EXPECT_TRUE(test::contains(message, "give " + std::to_string(more - 1) + " at most"))
        << message;
  }
  EXPECT_EQ(nearest_labels(known, labels, Matrix(0, 2)).size(), 0);
}

TEST(Predict, recovers_the_classes_of_the_small_problem) {
  const Problem problem = small_problem();
  for (const double lambda : {0.0, 0.05})
    EXPECT_EQ(evaluate(predict(fit(problem, five_steps(lambda)), problem.target.points),
                       problem.target.labels)
                  .accuracy(),
              1)
        << lambda;
}

TEST(Predict, is_the_neighbour_rule_among_mapped_points) {
  Problem problem = small_problem();
  for (Index i = 0; i < 30; ++i) problem.source.labels(i) = i;
  const Matrix points = 3 * random_matrix(50, 5, 4);
  const Model model = fit(problem, five_steps());
  const Matrix mapped = map(model);
  const Labels plain = predict(model, points, {.knn_metric = KnnMetric::euclidean});
  EXPECT_EQ(plain, nearest_labels(mapped, problem.source.labels, points));

  const Matrix away = distances(model, points, mapped);
  const Labels learned = predict(model, points);
  for (Index i = 0; i < points.rows(); ++i) {
    Index best = 0;
    away.row(i).minCoeff(&best);
    EXPECT_EQ(learned(i), best) << i;
  }
  EXPECT_NE(plain, learned);
}

// Two mapped points at (0, 3) and (1, 0), asked for from the origin: nearer by ordinary length is
// the second, nearer in a metric that does not see the second coordinate the first.
TEST(Predict, metric_of_the_model_decides) {
  Problem problem;
  problem.target.points = Matrix{{0, 3}, {1, 0}};
  problem.source = {problem.target.points, labels_of({1, 2}), {}};
  Options options = five_steps(0);
  options.metric = Matrix{{1, 0}, {0, 1e-4}};
  const Matrix origin = Matrix::Zero(1, 2);
  const Model model = fit(problem, options);
  EXPECT_EQ(predict(model, origin)(0), 1);
  EXPECT_EQ(predict(model, origin, {.knn_metric = KnnMetric::euclidean})(0), 2);
}

TEST(Predict, neighbours_option_counts) {
  Problem problem;
  problem.target.points = column({1, 2, 3, 9});
  problem.source = {problem.target.points, labels_of({5, 8, 8, 5}), {}};
  Options options = five_steps(0);
  options.metric = MetricChoice::identity;
  const Model model = fit(problem, options);
  EXPECT_EQ(predict(model, column({0}))(0), 5);
  EXPECT_EQ(predict(model, column({0}), {.neighbours = 3})(0), 8);
}

// Four points, three of them with weight: five neighbours were once taken for four, and four for
// three, without a word.
TEST(Predict, more_neighbours_than_labelled_points_are_refused) {
  Problem problem;
  problem.target.points = column({1, 2, 3, 9});
  problem.source = {problem.target.points, labels_of({5, 8, 8, 5}), Vector{{1, 1, 0, 1}}};
  const Model model = fit(problem, five_steps());
  EXPECT_EQ(test::message_of([&] { predict(model, column({0}), {.neighbours = 3}); }), "");
  const std::string message =
      test::message_of([&] { predict(model, column({0}), {.neighbours = 4}); });
  EXPECT_EQ(message.rfind("PredictOptions::neighbours: 4 ", 0), 0u) << message;
  EXPECT_TRUE(test::contains(message, "the 3 labelled points")) << message;
  EXPECT_TRUE(test::contains(message, "give 3 at most")) << message;
}

TEST(Predict, points_of_weight_zero_have_no_vote) {
  const Problem kept = small_problem();
  Problem problem = kept;
  problem.source.points.conservativeResize(31, 5);
  problem.source.points.row(30) = kept.target.points.row(0);
  problem.source.labels.conservativeResize(31);
  problem.source.labels(30) = 99;
  problem.source.weights = Vector::Ones(31);
  problem.source.weights(30) = 0;
  for (const double lambda : {0.0, 0.05}) {
    const Model with = fit(problem, five_steps(lambda)), without = fit(kept, five_steps(lambda));
    const Matrix points = 3 * random_matrix(40, 5, 6);
    EXPECT_EQ(predict(with, points), predict(without, points));
    const ClassShares shares = propagate(with, points);
    ASSERT_EQ(shares.classes, labels_of({3, 7, 99}));
    EXPECT_EQ(shares.shares.col(2), Vector::Zero(40));
    EXPECT_LT(difference(shares.shares.leftCols(2), propagate(without, points).shares), 1e-9);
  }
}

TEST(Predict, without_labels_says_how_to_get_them) {
  Problem problem = small_problem();
  problem.source.labels.resize(0);
  const Model model = fit(problem, five_steps());
  EXPECT_TRUE(contains(message_of([&] { predict(model, problem.target.points); }), "labels"));
  EXPECT_TRUE(contains(message_of([&] { propagate(model, problem.target.points); }), "labels"));
}

TEST(Predict, refuses_points_it_cannot_use) {
  const Model model = fit(small_problem(), five_steps());
  Matrix bad = random_matrix(3, 5, 1);
  bad(2, 0) = HUGE_VAL;
  for (const Matrix& points : {random_matrix(3, 4, 1), bad}) {
    EXPECT_THROW(predict(model, points), Error);
    EXPECT_THROW(propagate(model, points), Error);
    EXPECT_THROW(distances(model, points, random_matrix(1, 5, 1)), Error);
    EXPECT_THROW(distances(model, random_matrix(1, 5, 1), points), Error);
  }
  EXPECT_TRUE(contains(message_of([&] { predict(model, bad); }), "row 3, column 1"));
  EXPECT_EQ(predict(model, Matrix(0, 5)).size(), 0);
}

TEST(Propagate, shares_are_the_normalised_columns_of_the_plan) {
  Problem problem = small_problem();
  problem.source.weights = test::random_weights(30, 5);
  for (Index i = 0; i < 30; ++i) problem.source.labels(i) = 10 * (i % 3) - 10;
  for (const double lambda : {0.0, 0.05, 1.0}) {
    const Model model = fit(problem, five_steps(lambda));
    const ClassShares found = propagate(model, problem.target.points);
    ASSERT_EQ(found.classes, labels_of({-10, 0, 10}));
    const Matrix g = plan(model);
    Matrix expected = Matrix::Zero(40, 3);
    for (Index i = 0; i < 30; ++i) expected.col(i % 3) += g.row(i).transpose();
    const Vector masses = expected.rowwise().sum();
    expected = (masses.cwiseInverse().asDiagonal() * expected).eval();
    EXPECT_LT(difference(found.shares, expected), 1e-8) << lambda;
    EXPECT_LT((found.shares.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-12);
    EXPECT_GE(found.shares.minCoeff(), 0);
  }
}

TEST(Propagate, rows_sum_to_one_however_far) {
  const Model model = fit(small_problem(), five_steps());
  for (const double factor : {1.0, 1e3, 1e6, 1e12}) {
    const Matrix shares = propagate(model, factor * random_matrix(20, 5, 8)).shares;
    ASSERT_TRUE(shares.allFinite()) << factor;
    EXPECT_LT((shares.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-12) << factor;
  }
}

TEST(Propagate, most_likely_takes_the_smaller_label_of_a_tie) {
  const ClassShares shares{labels_of({-2, 4, 9}),
                           Matrix{{0.2, 0.5, 0.3}, {0.5, 0, 0.5}, {0, 0.5, 0.5}, {0, 0, 1}}};
  EXPECT_EQ(most_likely(shares), labels_of({4, -2, 4, 9}));
}

TEST(Distances, are_those_of_the_dense_metric) {
  for (const PriorChoice prior : {PriorChoice::identity, PriorChoice::w, PriorChoice::w_inverse}) {
    Options options = five_steps();
    options.prior = prior;
    const Model model = fit(small_problem(8, 9, 30), options);
    ASSERT_LT(model.metric.rank(), 30);
    // Random points lie outside the span of the data.
    const Matrix a = random_matrix(6, 30, 5), b = random_matrix(7, 30, 6);
    const Matrix metric = model.metric.matrix(), found = distances(model, a, b);
    ASSERT_EQ(found.rows(), 6);
    ASSERT_EQ(found.cols(), 7);
    for (Index i = 0; i < 6; ++i)
      for (Index j = 0; j < 7; ++j) {
        const Vector step = (a.row(i) - b.row(j)).transpose();
        const double expected = std::sqrt(step.dot(metric * step));
        EXPECT_NEAR(found(i, j), expected, 1e-10 * expected) << name(prior);
      }
  }
}

TEST(Distances, are_a_metric) {
  const Model model = fit(small_problem(8, 9, 30), five_steps());
  const Matrix points = random_matrix(12, 30, 5);
  const Matrix found = distances(model, points, points);
  EXPECT_EQ(found.diagonal(), Vector::Zero(12));
  EXPECT_LT(difference(found, found.transpose()), 1e-13 * found.maxCoeff());
  for (Index i = 0; i < 12; ++i)
    for (Index j = 0; j < 12; ++j) {
      if (i != j) {
        EXPECT_GT(found(i, j), 0);
      }
      for (Index k = 0; k < 12; ++k) EXPECT_LE(found(i, k), found(i, j) + found(j, k) + 1e-12);
    }
}

TEST(Distances, between_near_points_keep_their_digits) {
  const Model model = fit(small_problem(), five_steps());
  const Matrix a = random_matrix(1, 5, 1);
  const Matrix step = random_matrix(1, 5, 2);
  const double whole = distances(model, a, a + step)(0, 0);
  EXPECT_NEAR(distances(model, a, a + 0x1p-30 * step)(0, 0), 0x1p-30 * whole,
              0x1p-30 * 1e-5 * whole);
}

TEST(Distances, use_the_preprocessed_coordinates) {
  Options options = five_steps();
  options.preprocess = Preprocess::zscore;
  Problem problem = small_problem();
  problem.source.points.col(1) *= 1e3;
  problem.target.points.col(1) *= 1e3;
  const Model model = fit(problem, options);
  const Matrix a = random_matrix(4, 5, 1), b = random_matrix(3, 5, 2);
  const Matrix metric = model.metric.matrix(), found = distances(model, a, b);
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 3; ++j) {
      const Vector step = (a.row(i) - b.row(j)).transpose().cwiseQuotient(model.scaler.scale);
      EXPECT_NEAR(found(i, j), std::sqrt(step.dot(metric * step)), 1e-11);
    }
}

TEST(Evaluate, counts_equal_entries) {
  EXPECT_EQ(evaluate(labels_of({1, 2, 3, 4}), labels_of({1, 2, 0, 4})).accuracy(), 0.75);
  EXPECT_EQ(evaluate(labels_of({1}), labels_of({2})).accuracy(), 0);
  EXPECT_THROW(evaluate(labels_of({1}), labels_of({1, 2})), Error);
  EXPECT_THROW(evaluate(Labels(), Labels()), Error);
}

TEST(Evaluate, minus_one_is_a_class_beside_one_alone) {
  const Labels guesses = labels_of({1, 1, -1}), truth = labels_of({1, -1, -1});
  EXPECT_EQ(evaluate(guesses, truth, labels_of({1, -1, 1})).scored, 3);
  EXPECT_EQ(evaluate(guesses, truth, labels_of({1, -1, 1})).correct, 2);
  for (const Labels& source : {Labels(), labels_of({1}), labels_of({-1}), labels_of({-1, 0, 1})})
    EXPECT_EQ(evaluate(guesses, truth, source).scored, 1) << source.transpose();
}

TEST(Evaluate, what_is_not_known_is_not_scored) {
  const Score some = evaluate(labels_of({1, 2, -1, 4}), labels_of({1, -1, -1, 5}));
  EXPECT_EQ(some.scored, 2);
  EXPECT_EQ(some.correct, 1);
  EXPECT_EQ(some.unknown, 2);
  EXPECT_EQ(some.accuracy(), 0.5);
  EXPECT_EQ(some.percent(), "50.0 %");
  const Score none = evaluate(labels_of({1, -1}), labels_of({-1, -1}));
  EXPECT_FALSE(none.known());
  EXPECT_TRUE(std::isnan(none.accuracy()));
  EXPECT_EQ(none.percent(), "unknown");
}

}  // namespace
}  // namespace remblai
