// What a task does in shared coordinates and along a path is what single fits do in the open.
#include "methods.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "remblai/evaluate.h"
#include "remblai/fit.h"
#include "remblai/predict.h"
#include "support.h"

namespace remblai::experiments {
namespace {

// Classes that overlap, so that labels are wrong here and there.
Split small_split(Index d) {
  const Problem problem = test::small_problem(30, 40, d, 3);
  const Problem other = test::small_problem(30, 50, d, 4);
  Split split{problem.source, problem.target, other.target};
  for (Domain* part : {&split.source, &split.train, &split.test})
    for (Index i = 0; i < part->size(); ++i) part->points(i, 0) += part->labels[i] == 7 ? -3 : 3;
  return split;
}

Settings small_settings() {
  Settings settings;
  for (const Method& method : all_methods()) settings.methods.push_back(method.key);
  settings.lambdas = {1, 0.2, 0.05};
  settings.ridges = {1, 0.01};
  settings.options.steps = 6;
  settings.options.resources.threads = 1;
  return settings;
}

const auto never = [] { return false; };

Trial by_fit(const Split& split, const Method& method, const Trial& like, Options options,
             PredictOptions prediction) {
  const bool class_aware = method.kind == Kind::class_aware;
  if (class_aware) {
    options = {.method = remblai::Method::class_aware, .preprocess = options.preprocess};
    prediction = {.rule = method.rule};
  }
  options.metric = method.metric;
  if (!class_aware) options.prior = method.prior;
  options.lambda = like.lambda;
  if (method.metric == MetricChoice::learned)
    options.ridge = like.ridge;
  else if (!std::isnan(like.ridge))
    options.prior_ridge = like.ridge;
  const Model model = fit({split.source, {split.train.points, {}, {}}, {}}, options);
  const Predictor predictor(model, prediction);
  Trial run;
  run.train_accuracy = evaluate(predictor(split.train.points), split.train.labels).accuracy();
  run.test_accuracy = evaluate(predictor(split.test.points), split.test.labels).accuracy();
  run.steps = static_cast<int>(model.history.size());
  run.outcome = model.status.outcome;
  return run;
}

// In 5 dimensions, and in 200, where the points span 70 of them.
TEST(Methods, EveryRunIsThatOfAFit) {
  for (const Index d : {Index{5}, Index{200}}) {
    const Split split = small_split(d);
    for (const KnnMetric knn : {KnnMetric::model, KnnMetric::euclidean}) {
      Settings settings = small_settings();
      settings.prediction.knn_metric = knn;
      settings.options.preprocess = d == 5 ? Preprocess::zscore : Preprocess::none;
      const auto runs = run_methods(split, settings, never);
      ASSERT_TRUE(runs);
      std::set<double> accuracies;
      for (const Trial& run : *runs) {
        const Method& method = method_named(run.method);
        if (method.kind == Kind::source_only) continue;
        const Trial expected = by_fit(split, method, run, settings.options, settings.prediction);
        const std::string what = run.method + " at " + std::to_string(run.lambda) + ", ridge " +
                                 std::to_string(run.ridge) + ", d = " + std::to_string(d);
        EXPECT_EQ(run.train_accuracy, expected.train_accuracy) << what;
        EXPECT_EQ(run.test_accuracy, expected.test_accuracy) << what;
        EXPECT_EQ(run.steps, expected.steps) << what;
        EXPECT_EQ(run.outcome, expected.outcome) << what;
        accuracies.insert(run.test_accuracy);
      }
      EXPECT_GE(accuracies.size(), 4u);  // else equal numbers would say little
    }
  }
}

TEST(Methods, WithoutTransportItIsTheNearestSourcePoint) {
  const Split split = small_split(5);
  Settings settings = small_settings();
  settings.methods = {"none"};
  const auto runs = run_methods(split, settings, never);
  ASSERT_EQ(runs->size(), 1u);
  const Labels labels = nearest_labels(split.source.points, split.source.labels, split.test.points);
  EXPECT_EQ(runs->front().test_accuracy, evaluate(labels, split.test.labels).accuracy());
  EXPECT_TRUE(std::isnan(runs->front().lambda));
  EXPECT_TRUE(runs->front().chosen);
}

TEST(Methods, TheGridsAreWalkedAndTheBestOfEachIsChosen) {
  const auto runs = run_methods(small_split(5), small_settings(), never);
  std::map<std::string, std::vector<Trial>> by_method;
  for (const Trial& run : *runs) by_method[run.method].push_back(run);
  EXPECT_EQ(by_method.size(), all_methods().size());
  for (const auto& [key, list] : by_method) {
    const Method& method = method_named(key);
    const std::size_t expected = method.kind != Kind::entropic ? 1u
                                 : !method.tunes_ridge         ? 3u
                                 : key == "learned-ridge"      ? 9u
                                                               : 6u;
    EXPECT_EQ(list.size(), expected) << key;
    // The first of the best: the grids run from large to small.
    const auto best = std::max_element(
        list.begin(), list.end(),
        [](const Trial& a, const Trial& b) { return a.train_accuracy < b.train_accuracy; });
    for (auto run = list.begin(); run != list.end(); ++run)
      EXPECT_EQ(run->chosen, run == best) << key;
    for (std::size_t i = 1; i < list.size(); ++i) {
      const bool next_ridge = list[i].lambda > list[i - 1].lambda;
      EXPECT_TRUE(!next_ridge || list[i].ridge < list[i - 1].ridge) << key;
    }
  }
}

TEST(Methods, StopsWhenAsked) {
  int calls = 0;
  EXPECT_FALSE(run_methods(small_split(5), small_settings(), [&] { return ++calls > 4; }));
}

TEST(Methods, AnUnknownNameIsToldTheOthers) {
  const std::string message = test::message_of([] { method_named("ot"); });
  EXPECT_TRUE(test::contains(
      message, "there is no 'ot' (did you mean 'ot-w'?); the methods are none, logistic"))
      << message;
}

}  // namespace
}  // namespace remblai::experiments
