// The metric on the page: eigenvalues, stretch, features.
#include <gtest/gtest.h>

#include <cmath>

#include "base/linalg.h"
#include "report/page_data.h"
#include "report/page_test_tools.h"

namespace remblai {
namespace {

TEST(Page, TheSpectrumIsThatOfTheMetric) {
  for (const Index d : {5, 60}) {  // 60 > 30 + 20: the data span less than the whole
    Problem problem = small_problem(30, 20, d);
    const Model model = fit(problem);
    const MetricView view = view_metric(model, 3);
    const Matrix a = model.metric.matrix();
    const Vector expected = linalg::eigenvalues(a);
    std::vector<double> found;
    for (const double value : view.eigenvalues) found.push_back(value * view.mean);
    found.resize(static_cast<std::size_t>(d), view.outside * view.mean);
    std::sort(found.begin(), found.end());
    for (Index k = 0; k < d; ++k)
      EXPECT_NEAR(found[static_cast<std::size_t>(k)], expected[k], 1e-9 * expected[d - 1]) << d;
    EXPECT_NEAR(view.eigenvalues.mean(), 1, 1e-10) << "relative to the mean inside the span";
    EXPECT_EQ(view.outside_count, d - model.metric.rank());
    for (Index k = 0; k < view.most.rows(); ++k) {
      const Vector axis = view.most.row(k).transpose();
      EXPECT_LT((a * axis - view.eigenvalues[k] * view.mean * axis).norm(), 1e-8 * view.mean);
    }
    const Vector least = view.least.row(0).transpose();
    const double smallest = view.eigenvalues[view.eigenvalues.size() - 1] * view.mean;
    EXPECT_LT((a * least - smallest * least).norm(), 1e-8 * view.mean);
  }
}

TEST(Page, StretchIsTheLengthOfATypicalStep) {
  Problem problem = small_problem();
  problem.source.points.col(1) *= 1000;  // another unit
  problem.target.points.col(1) *= 1000;
  problem.source.points.col(4).setConstant(2);
  problem.target.points.col(4).setConstant(2);
  problem.source.weights = test::random_weights(30, 5);
  problem.source.weights[3] = 0;
  problem.source.points(3, 2) = 1e6;  // weighs nothing
  const Model model = fit(problem);
  const MetricView view = view_metric(model, 2);
  const Matrix a = model.metric.matrix();
  Vector expected = Vector::Zero(5);
  for (Index k = 0; k < 4; ++k) {
    double mean = 0, square = 0;
    for (const Domain* domain : {&model.source, &model.target})
      for (Index i = 0; i < domain->size(); ++i)
        mean += domain->weights[i] * domain->points(i, k) / 2;
    for (const Domain* domain : {&model.source, &model.target})
      for (Index i = 0; i < domain->size(); ++i)
        square += domain->weights[i] * std::pow(domain->points(i, k) - mean, 2) / 2;
    expected[k] = std::sqrt(a(k, k) * square);
  }
  expected *= 4 / expected.sum();
  EXPECT_LT(test::difference(view.stretch, expected), 1e-9);
  EXPECT_EQ(view.by_stretch.size(), 4u);
  EXPECT_LT(view.stretch[view.by_stretch.front()], 1);
  EXPECT_GT(view.stretch[view.by_stretch.back()], 1);
}

TEST(Page, FeaturesByNameInOrderOfTheirStretch) {
  Problem problem = small_problem();
  problem.features = {"alcohol", "ash", "hue", "acid", "still"};
  problem.source.points.col(4).setConstant(2);
  problem.target.points.col(4).setConstant(2);
  const Model model = fit(problem);
  const MetricView view = view_metric(model, 2);
  ASSERT_EQ(view.by_stretch.size(), 4u) << "a feature that never varies is left out";
  for (std::size_t k = 1; k < 4; ++k)
    EXPECT_LE(view.stretch[view.by_stretch[k - 1]], view.stretch[view.by_stretch[k]]);
  const Json bars = block(data_of(model), "bars");
  EXPECT_EQ(bars["labels"][0], problem.features[static_cast<std::size_t>(view.by_stretch[3])]);
  EXPECT_FALSE(contains(bars.dump(), "still"));
}

TEST(Page, StretchedFeaturesAreAboveOneAndShrunkOnesBelow) {
  const auto bars_of = [](Index dimension) {
    std::vector<Json> bars;
    const Json data = data_of(fit(small_problem(60, 50, dimension)));
    for (const Json& section : data["sections"])
      for (const Json& one : section["blocks"])
        if (one["kind"] == "bars") bars.push_back(one);
    return bars;
  };
  const std::vector<Json> few = bars_of(6);
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(few[0]["values"].size(), 6u);
  const std::vector<Json> many = bars_of(40);
  ASSERT_EQ(many.size(), 2u);
  EXPECT_EQ(many[0]["most"], many[1]["most"]);
  for (const double value : many[0]["values"].get<std::vector<double>>()) EXPECT_GT(value, 1);
  for (const double value : many[1]["values"].get<std::vector<double>>()) EXPECT_LT(value, 1);
}

}  // namespace
}  // namespace remblai
