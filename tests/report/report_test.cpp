// The report as JSON: every promised key with the value of the model; and the lines for people.
#include "remblai/report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "fit/class_test_tools.h"
#include "remblai/fit.h"
#include "remblai/page.h"
#include "remblai/version.h"
#include "support.h"

namespace remblai {
namespace {

using nlohmann::json;
using test::contains;

using test::infinity;
using test::nan;

Model model_to_report() {
  Options options;
  options.steps = 3;
  options.prior = PriorChoice::w_inverse;
  options.lambda = 0.125;
  return fit(test::small_problem(), options);
}

Report full_report() {
  return {.target_score = Score{8, 7}, .test_score = Score{40, 30, 10}, .seconds = 1.5};
}

TEST(Report, has_every_promised_key_with_the_value_of_the_model) {
  const Model model = model_to_report();
  const Step& last = model.history.back();
  const json report = json::parse(to_json(model, full_report()));
  EXPECT_EQ(report.at("status"), name(model.status.outcome));
  EXPECT_EQ(report.at("accuracy"), json({{"target", 0.875}, {"test", 0.75}}));
  EXPECT_EQ(report.at("scored"), json({{"target", 8}, {"test", 40}}));
  EXPECT_EQ(report.at("lambda"), 0.125);
  EXPECT_EQ(report.at("lambda_absolute"), model.lambda);
  EXPECT_EQ(report.at("ridge_absolute"), model.ridge);
  EXPECT_EQ(report.at("objective"), last.objective);
  EXPECT_EQ(report.at("transport_cost"), last.transport_cost);
  EXPECT_EQ(report.at("marginal_error"),
            json({{"source", last.source_error}, {"target", last.target_error}}));
  EXPECT_EQ(report.at("duality_gap"), last.duality_gap);
  EXPECT_EQ(report.at("riccati_residual"), last.riccati_residual);
  EXPECT_EQ(report.at("steps"), model.history.size());
  EXPECT_EQ(report.at("seconds"), 1.5);
  EXPECT_EQ(report.at("version"), version());
  EXPECT_GT(model.lambda, 0);
  EXPECT_NE(model.lambda, 0.125);
}

TEST(Report, accuracy_has_only_what_is_known) {
  const Model model = model_to_report();
  EXPECT_EQ(json::parse(to_json(model, {})).at("accuracy"), json::object());
  EXPECT_EQ(
      json::parse(to_json(model, {.target_score = {}, .test_score = Score{2, 1}})).at("accuracy"),
      json({{"test", 0.5}}));
}

TEST(Report, inputs_keep_their_names_and_the_rule_its_value) {
  const Model model = model_to_report();
  Report report;
  EXPECT_EQ(json::parse(to_json(model, report)).at("inputs"), json::object());
  EXPECT_EQ(json::parse(to_json(model, report)).at("prediction").at("rule"), "auto");
  report.inputs = {{"source", "a b.csv"}, {"source-labels", "a b.csv:class"}, {"prior", "\xff"}};
  report.prediction.rule = Rule::propagate;
  const json parsed = json::parse(to_json(model, report));
  EXPECT_EQ(
      parsed.at("inputs"),
      json({{"source", "a b.csv"}, {"source-labels", "a b.csv:class"}, {"prior", "\xef\xbf\xbd"}}));
  EXPECT_EQ(parsed.at("prediction").at("rule"), "propagate");
}

TEST(Report, history_has_every_step_and_every_number) {
  const Model model = model_to_report();
  const json history = json::parse(to_json(model, {})).at("history");
  ASSERT_EQ(history.size(), model.history.size());
  ASSERT_GE(history.size(), 2u);
  for (std::size_t k = 0; k < history.size(); ++k) {
    const Step& step = model.history[k];
    const json& record = history[k];
    EXPECT_EQ(record.at("step"), static_cast<int>(k) + 1);
    EXPECT_EQ(record.at("objective"), step.objective);
    EXPECT_EQ(record.at("transport_cost"), step.transport_cost);
    EXPECT_EQ(record.at("entropy"), step.entropy);
    EXPECT_EQ(record.at("prior_term"), step.prior_term);
    EXPECT_EQ(record.at("ridge_term"), step.ridge_term);
    EXPECT_EQ(record.at("source_error"), step.source_error);
    EXPECT_EQ(record.at("target_error"), step.target_error);
    EXPECT_EQ(record.at("duality_gap"), step.duality_gap);
    EXPECT_EQ(record.at("distance_change"), step.distance_change);
    if (k + 1 < history.size()) {  // judged at the end only
      for (const char* key : {"riccati_residual", "metric_change", "condition"})
        EXPECT_TRUE(record.at(key).is_null()) << key;
    } else {
      EXPECT_EQ(record.at("riccati_residual"), step.riccati_residual);
      EXPECT_EQ(record.at("metric_change"), step.metric_change);
      EXPECT_EQ(record.at("condition"), step.condition);
    }
    EXPECT_EQ(record.at("inner_iterations"), step.inner_iterations);
    EXPECT_EQ(record.at("inner_converged"), step.inner_converged);
    EXPECT_EQ(record.at("seconds"), step.seconds);
  }
}

TEST(Report, options_are_all_there_under_their_own_names) {
  const Model model = model_to_report();
  const json options = json::parse(to_json(model, {})).at("options");
  std::size_t count = 0;
  for_each_option(model.options, [&](const char* key, const auto& field, const char*) {
    ++count;
    ASSERT_TRUE(options.contains(key)) << key;
    if constexpr (!std::is_arithmetic_v<std::remove_cvref_t<decltype(field)>>)
      EXPECT_EQ(options.at(key), name(field));
    else
      EXPECT_EQ(options.at(key), field);
  });
  EXPECT_EQ(options.size(), count);
  EXPECT_FALSE(options.contains("neighbours"));
  EXPECT_EQ(options.at("prior"), "w-inverse");
}

TEST(Report, says_how_labels_were_predicted) {
  const Report report{.prediction = {.neighbours = 7, .knn_metric = KnnMetric::euclidean}};
  EXPECT_EQ(json::parse(to_json(model_to_report(), report)).at("prediction"),
            json({{"rule", "auto"}, {"neighbours", 7}, {"knn-metric", "euclidean"}}));
}

TEST(Report, numbers_that_are_not_finite_become_null) {
  Model model = model_to_report();
  model.history.back().objective = nan;
  model.history.back().duality_gap = infinity;
  model.history.back().target_error = -infinity;
  model.lambda = nan;
  model.ridge = infinity;
  const json report = json::parse(
      to_json(model, {.target_score = Score{0, 0, 5}, .test_score = {}, .seconds = nan}));
  EXPECT_TRUE(report.at("objective").is_null());
  EXPECT_TRUE(report.at("duality_gap").is_null());
  EXPECT_TRUE(report.at("marginal_error").at("target").is_null());
  EXPECT_TRUE(report.at("marginal_error").at("source").is_number());
  EXPECT_TRUE(report.at("lambda_absolute").is_null());
  EXPECT_TRUE(report.at("ridge_absolute").is_null());
  EXPECT_TRUE(report.at("accuracy").at("target").is_null());
  EXPECT_TRUE(report.at("seconds").is_null());
  EXPECT_TRUE(report.at("history").back().at("objective").is_null());
  EXPECT_TRUE(report.at("history").front().at("objective").is_number());
}

TEST(Report, a_run_without_a_step_has_no_numbers) {
  Model model;
  model.status = {Outcome::diverged, {.problem = "nothing \"worked\"\n"}};
  const json report = json::parse(to_json(model, {}));
  EXPECT_EQ(report.at("status"), "diverged");
  EXPECT_EQ(report.at("steps"), 0);
  EXPECT_EQ(report.at("history"), json::array());
  for (const char* key : {"objective", "transport_cost", "duality_gap", "riccati_residual"})
    EXPECT_TRUE(report.at(key).is_null()) << key;
  EXPECT_TRUE(contains(summary(model, {}), "diverged"));
}

TEST(Report, spells_options_as_its_reader_does) {
  Model model;
  model.status = {Outcome::iteration_limit, {.value = "$steps", .remedy = "give more $steps"}};
  const Report report{.spelling = [](std::string_view name) { return "<" + std::string(name); }};
  EXPECT_TRUE(contains(summary(model, report), "$steps; give more <steps\n"));
  EXPECT_TRUE(contains(summary(model, {}), "$steps; give more Options::steps\n"));
  EXPECT_EQ(json::parse(to_json(model, report)).at("status_reason"), "$steps; give more <steps");
}

TEST(Report, summary_counts_one_and_many) {
  Model model;
  model.source.points = Matrix::Ones(1, 2);
  model.target.points = Matrix::Ones(2, 2);
  EXPECT_TRUE(contains(summary(model, {}), "1 source point, 2 target points, 0 dimensions"));
}

TEST(Report, says_what_a_class_aware_fit_was_given) {
  Problem problem = test::class_problem(2, 30, 40, 3);
  const auto shares_of = [](const json& report) { return report["classes"]["shares_estimated"]; };
  const Model found = fit(problem, test::class_aware());
  EXPECT_EQ(shares_of(json::parse(to_json(found, {}))), true);
  EXPECT_EQ(json::parse(to_json(found, {}))["classes"]["known_labels"], 0);
  EXPECT_FALSE(contains(summary(found, {}), "were given"));
  EXPECT_FALSE(contains(summary(found, {}), "known labels"));
  problem.known_labels = Labels::Constant(40, unknown_label);
  problem.known_labels.head(3) = problem.target.labels.head(3);
  Options options = test::class_aware();
  options.classes.target_shares = SharesChoice::uniform;
  const Model given = fit(problem, options);
  EXPECT_EQ(shares_of(json::parse(to_json(given, {}))), false);
  EXPECT_EQ(json::parse(to_json(given, {}))["classes"]["known_labels"], 3);
  EXPECT_TRUE(contains(summary(given, {}), "of the target were given, and not estimated\n"));
  EXPECT_TRUE(contains(summary(given, {}), "known labels   of 3 of the 40 target points\n"));
  EXPECT_TRUE(contains(to_html(found, {}, {}), "as estimated, in the target"));
  EXPECT_TRUE(contains(to_html(given, {}, {}), "as given, in the target"));
}

TEST(Report, has_every_warning) {
  Model model = fit(test::class_problem(2, 30, 40, 3), test::class_aware());
  EXPECT_EQ(json::parse(to_json(model, {}))["warnings"], json::array());
  EXPECT_FALSE(contains(summary(model, {}), "warning"));
  model.classes->reliability = 0.5;
  model.source.points.col(1) *= 100;
  const json said = json::parse(to_json(model, {}))["warnings"];
  ASSERT_EQ(said.size(), 2u) << said;
  EXPECT_TRUE(contains(said[0], "The reliability is 0.500")) << said;
  EXPECT_TRUE(contains(said[1], "Column 1")) << said;
  for (const std::string text : said)
    EXPECT_TRUE(contains(summary(model, {}), "warning: " + text + "\n")) << text;
}

TEST(Report, summary_mentions_accuracy_and_status) {
  const Model model = model_to_report();
  const std::string text = summary(model, full_report());
  EXPECT_TRUE(contains(text, std::string(name(model.status.outcome)))) << text;
  EXPECT_TRUE(contains(text, model.status.reason())) << text;
  EXPECT_TRUE(contains(text, "87.50 % on the target")) << text;
  EXPECT_TRUE(contains(text, "75.00 % on the test points, of which 40 of 50 labels are known"))
      << text;
  const std::string unknown = summary(model, {.target_score = Score{0, 0, 5}});
  EXPECT_TRUE(contains(unknown, "unknown on the target: no true label is known")) << unknown;
  EXPECT_TRUE(contains(text, "w-inverse")) << text;
  EXPECT_TRUE(contains(text, "1.50 s")) << text;
  EXPECT_EQ(text.back(), '\n');
  EXPECT_FALSE(contains(summary(model, {}), "accuracy"));
}

}  // namespace
}  // namespace remblai
