// Hostile input to Domain::validate and fit, and the normalisation of weights.
// Every message must name the field, the value or place, and what to do.
#include "remblai/domain.h"

#include <gtest/gtest.h>

#include <limits>

#include "remblai/fit.h"
#include "support.h"

namespace remblai {
namespace {

using test::contains;
using test::message_of;
using test::small_problem;

using test::infinity;
using test::nan;

std::string complaint(const Domain& domain) {
  return message_of([&] { domain.validate("source"); });
}

std::string complaint(const Problem& problem, const Options& options = {}) {
  return message_of([&] { fit(problem, options); });
}

TEST(Domain, accepts_what_can_be_used) {
  Domain domain = small_problem().source;
  EXPECT_EQ(complaint(domain), "");
  domain.weights = Vector::Zero(domain.size());
  domain.weights(4) = 1e-300;
  EXPECT_EQ(complaint(domain), "");
  EXPECT_EQ(complaint(Domain{Matrix::Zero(1, 1), {}, {}}), "");
}

TEST(Domain, names_row_and_column_of_what_is_not_finite) {
  for (const double bad : {nan, infinity, -infinity}) {
    Domain domain = small_problem().source;
    domain.points(6, 2) = bad;
    domain.points(9, 0) = bad;
    const std::string message = complaint(domain);
    EXPECT_TRUE(contains(message, "source")) << message;
    EXPECT_TRUE(contains(message, "row 7, column 3")) << message;
  }
}

TEST(Domain, refuses_empty_clouds) {
  for (const Matrix& points : {Matrix(), Matrix(0, 3), Matrix(3, 0)}) {
    const std::string message = complaint(Domain{points, {}, {}});
    EXPECT_TRUE(contains(message, "source")) << message;
    EXPECT_TRUE(contains(message, "at least one point")) << message;
  }
}

TEST(Domain, refuses_labels_of_another_length) {
  Domain domain = small_problem(30).source;
  for (const Index length : {1, 29, 31}) {
    domain.labels = Labels::Zero(length);
    const std::string message = complaint(domain);
    EXPECT_TRUE(contains(message, "source labels")) << message;
    EXPECT_TRUE(contains(message, std::to_string(length))) << message;
    EXPECT_TRUE(contains(message, "30")) << message;
  }
}

TEST(Domain, refuses_weights_that_are_none) {
  Domain domain = small_problem(30).source;
  domain.weights = Vector::Ones(29);
  EXPECT_TRUE(contains(complaint(domain), "29 weights for 30")) << complaint(domain);
  domain.weights = Vector::Zero(30);
  EXPECT_TRUE(contains(complaint(domain), "all are zero")) << complaint(domain);
  for (const double bad : {-1e-300, nan, infinity}) {
    domain.weights = Vector::Ones(30);
    domain.weights(11) = bad;
    EXPECT_TRUE(contains(complaint(domain), "source weights: weight 12")) << complaint(domain);
  }
}

TEST(Domain, probabilities_sum_to_one) {
  Domain domain{Matrix::Zero(4, 2), {}, {}};
  EXPECT_EQ(domain.probabilities(), Vector::Constant(4, 0.25));
  for (const double scale : {1.0, 1e-300, 1e307}) {
    domain.weights = scale * Eigen::Vector4d(1, 0, 4, 3);
    EXPECT_LT((domain.probabilities() - Eigen::Vector4d(0.125, 0, 0.5, 0.375)).norm(), 1e-15);
  }
}

TEST(Domain, positive_entries_are_places) {
  EXPECT_EQ(positive_entries(Eigen::Vector4d(0, 2, 0, 1e-310)), (std::vector<Index>{1, 3}));
  EXPECT_TRUE(positive_entries(Vector()).empty());
}

TEST(FitInput, checks_both_domains) {
  for (const bool source : {true, false}) {
    const std::string name = source ? "source" : "target";
    const auto broken = [&](auto&& change) {
      Problem problem = small_problem();
      change(source ? problem.source : problem.target);
      return complaint(problem);
    };
    for (const std::string& message : {
             broken([](Domain& d) { d.points(2, 1) = nan; }),
             broken([](Domain& d) { d.points.resize(0, 5); }),
             broken([](Domain& d) { d.labels = Labels::Zero(3); }),
             broken([](Domain& d) { d.weights = Vector::Ones(3); }),
             broken([](Domain& d) { d.weights = Vector::Zero(d.size()); }),
             broken([](Domain& d) { d.weights = -Vector::Ones(d.size()); }),
         })
      EXPECT_EQ(message.rfind(name, 0), 0u) << name << ": " << message;
    const std::string place = broken([](Domain& d) { d.points(2, 1) = nan; });
    EXPECT_TRUE(contains(place, "row 3, column 2")) << place;
  }
}

TEST(FitInput, refuses_domains_of_different_dimension) {
  Problem problem = small_problem();
  problem.target.points = test::random_matrix(40, 4, 1);
  const std::string message = complaint(problem);
  EXPECT_TRUE(contains(message, "4")) << message;
  EXPECT_TRUE(contains(message, "5")) << message;
  EXPECT_TRUE(contains(message, "coordinates")) << message;
}

TEST(FitInput, refuses_a_matrix_that_is_not_positive_definite) {
  for (const bool prior : {true, false}) {
    const Problem problem = small_problem();
    const auto said = [&](const Matrix& matrix) {
      Options options;
      if (prior)
        options.prior = matrix;
      else
        options.metric = matrix;
      return complaint(problem, options);
    };
    const std::string name = prior ? "prior" : "metric";

    EXPECT_TRUE(contains(said(Matrix()), name)) << "nothing given";
    EXPECT_TRUE(contains(said(Matrix::Identity(4, 4)), "4 x 4")) << said(Matrix::Identity(4, 4));
    EXPECT_TRUE(contains(said(Matrix::Identity(5, 4)), "5 x 4")) << said(Matrix::Identity(5, 4));
    Matrix matrix = Matrix::Identity(5, 5);
    EXPECT_EQ(said(matrix), "");
    matrix(3, 3) = -0.375;
    EXPECT_TRUE(contains(said(matrix), name)) << said(matrix);
    EXPECT_TRUE(contains(said(matrix), "-0.375")) << said(matrix);
    matrix = Matrix::Identity(5, 5);
    matrix(0, 1) = 0.5;
    EXPECT_TRUE(contains(said(matrix), "symmetric")) << said(matrix);
    matrix(0, 1) = nan;
    EXPECT_TRUE(contains(said(matrix), name)) << said(matrix);
  }
}

TEST(FitInput, refuses_options_out_of_range_before_it_looks_at_the_data) {
  Options options;
  options.geodesic = 1;
  EXPECT_TRUE(contains(complaint(Problem{}, options), "geodesic"));
}

TEST(FitInput, says_what_a_missing_ridge_would_leave_undefined) {
  Problem problem = small_problem();
  problem.source.points.col(2).setConstant(3);
  problem.target.points.col(2).setConstant(3);
  Options options;
  options.ridge = 0;
  EXPECT_EQ(complaint(problem, options).rfind("Options::ridge: 0 ", 0), 0u)
      << complaint(problem, options);
  for (const PriorChoice prior : {PriorChoice::w, PriorChoice::w_inverse}) {
    options = {};
    options.prior = prior;
    options.prior_ridge = 0;
    problem.source.points.col(2).setZero();
    problem.target.points.col(2).setZero();
    EXPECT_EQ(complaint(problem, options).rfind("Options::prior_ridge: 0 ", 0), 0u)
        << complaint(problem, options);
  }
}

TEST(FitInput, a_ridge_too_small_for_the_first_moment_is_refused) {
  Problem problem = small_problem();
  problem.source.points.col(2).setConstant(3);
  problem.target.points.col(2).setConstant(3);
  Options options;
  options.prior = Matrix(Matrix::Identity(5, 5));
  options.ridge = 0;
  EXPECT_TRUE(contains(message_of([&] { fit(problem, options); }), "ridge"));
}

TEST(FitInput, labels_that_files_cannot_hold_are_refused) {
  Problem problem = small_problem();
  problem.source.labels(0) = (std::int64_t{1} << 53) + 1;
  EXPECT_TRUE(contains(message_of([&] { fit(problem); }), "source labels: label 1"));
}

}  // namespace
}  // namespace remblai
