// The page of a model: its numbers against their definitions, its words, and hostile names.
#include "remblai/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>

#include "remblai/evaluate.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "remblai/sample.h"
#include "report/page_data.h"
#include "report/page_shell.h"
#include "report/page_test_tools.h"

namespace remblai {
namespace {

TEST(Page, HasEverySectionAndNeedsNothing) {
  const Model model = small_model();
  Report report;
  report.test_score = Score{8, 7};
  const std::string page = to_html(model, report);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(contains(page, "default-src 'none'"));
  for (const char* link : {"src=\"", "<link", "@import", "fetch(", "XMLHttpRequest"})
    EXPECT_FALSE(contains(page, link)) << link;
  for (const char* mark : {"{{title}}", "{{style}}", "{{data}}", "{{chart.js}}", "{{script}}"})
    EXPECT_FALSE(contains(page, mark)) << mark;
  const Json data = Json::parse(raw_data(page));
  std::vector<std::string> headings;
  for (const Json& section : data["sections"]) headings.push_back(section["heading"]);
  EXPECT_EQ(headings, (std::vector<std::string>{"Accuracy", "Where the mass goes", "The points",
                                                "Strongest pairs", "The learned metric",
                                                "Convergence", "Settings"}));
  EXPECT_TRUE(contains(data["verdict"], "converged")) << data["verdict"];
  EXPECT_TRUE(contains(data["verdict"], "87.5 %")) << data["verdict"];
  EXPECT_TRUE(contains(data["asked"], "30 labelled source points of 2 classes")) << data["asked"];
  EXPECT_EQ(data["warnings"].size(), 0u) << warnings(data);
  EXPECT_EQ(to_html(model, report), page) << "the same bytes every time";
}

TEST(Page, SaysTheUnitOfTheRidgeAndAHalvedWeight) {
  const Problem problem = small_problem();
  EXPECT_TRUE(contains(to_html(fit(problem), Report()), "0.1 × the mean eigenvalue"));
  Model model = fit(problem, {.method = Method::class_aware});
  model.classes->geodesic = 0.5;
  const std::string plain = to_html(model, Report());
  EXPECT_TRUE(contains(plain, "3 × the unit of the prior"));
  EXPECT_FALSE(contains(plain, "in place of"));
  model.classes->geodesic = 0.25;
  EXPECT_TRUE(
      contains(to_html(model, Report()), "learned, prior spread, geodesic 0.25 in place of 0.5"));
}

TEST(Page, HostileNamesStayText) {
  const std::string evil = "</script><img src=x onerror=alert(1)>&amp;\xe2\x80\xa8\"'";
  Problem problem = small_problem();
  problem.target.labels = {};
  problem.features = {evil, "<b>", "caf\xe9", "\xff\xfe", ""};
  const Model model = fit(problem);
  PageOptions options;
  options.title = evil;
  options.asked = evil;
  options.verdict = evil;
  options.class_names = {{3, evil}, {7, "\xc3\xe2\x80\xae"}};
  options.scores = {{evil, {2, 1}, evil}};
  Report report;
  report.inputs = {{evil, evil}};
  const std::string page = to_html(model, report, options);
  EXPECT_FALSE(contains(page, "<img"));
  EXPECT_FALSE(contains(page, "</script><"));
  EXPECT_FALSE(contains(page, "\xff"));
  const std::string raw = raw_data(page);
  for (const char* part : {"<", ">", "&", "\xe2\x80\xa8"})
    EXPECT_FALSE(contains(raw, part)) << part;
  const Json data = Json::parse(raw);
  EXPECT_EQ(data["title"], evil) << "and nothing of it is lost";
  EXPECT_EQ(block(data, "heat")["rows"][0], evil);
  EXPECT_EQ(block(data, "heat")["rows"][1], "\xef\xbf\xbd\xef\xbf\xbd")
      << "nothing is turned around";
  EXPECT_TRUE(contains(page, "<title>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;"));
}

TEST(Page, NumbersDoNotFollowTheLocale) {
  const std::string folder = test::scratch_path("locales");
  std::filesystem::create_directories(folder);
  const std::string make = "localedef -f UTF-8 -i de_DE " + folder + "/de_DE.UTF-8 2>&1";
  const bool made = std::system((make + " > " + folder + "/log").c_str()) == 0;
  if (made) setenv("LOCPATH", folder.c_str(), 1);
  const bool comma = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  const Json half = brief(0.5), small = brief(1.2345e-7, 3);
  std::setlocale(LC_ALL, "C");
  if (made) unsetenv("LOCPATH");
  std::filesystem::remove_all(folder);
  if (!comma) GTEST_SKIP() << "no locale with a decimal comma";
  EXPECT_EQ(half, 0.5);
  EXPECT_EQ(small, 1.23e-7);
}

TEST(Page, AccuracyStandsBesideThatOfNoAdaptation) {
  const Problem problem = small_problem();
  const Json rows = block(data_of(fit(problem)), "table")["rows"];
  const double nearest =
      evaluate(nearest_labels(problem.source.points, problem.source.labels, problem.target.points),
               problem.target.labels)
          .accuracy();
  EXPECT_TRUE(contains(rows[0][0], "no adaptation"));
  EXPECT_EQ(rows[0][1], fmt::format("{:.1f} %", 100 * nearest));
  EXPECT_TRUE(contains(rows[1][0], "this model"));
  PageOptions scored;
  scored.scores = {{.method = "mine", .score = {2, 1}}};
  EXPECT_FALSE(contains(data_of(fit(problem), scored).dump(), "nearest source point"));
}

TEST(Page, LabelsOfTheModelAreTrueOnes) {
  const Problem problem = small_problem();
  const Model model = fit(problem);
  ASSERT_EQ(model.target.labels.size(), 40);
  const Json data = data_of(model);
  const double right =
      evaluate(predict(model, problem.target.points), problem.target.labels).accuracy();
  EXPECT_TRUE(contains(data["verdict"], "of the target points get the right label"));
  EXPECT_EQ(data["sections"][0]["heading"], "Accuracy");
  EXPECT_NEAR(std::stod(data["sections"][0]["blocks"][1]["rows"][0][1].get<std::string>()),
              100 * right, 0.051);
}

// A label that the fit was given is no guess.
TEST(Page, GivenLabelsAreNotScored) {
  Problem problem = small_problem();
  problem.known_labels = Labels::Constant(40, -1);
  problem.known_labels.head(5) = problem.target.labels.head(5);
  const Model model = fit(problem, {.method = Method::class_aware});
  const Json data = data_of(model);
  const Labels guesses = predict(model, problem.target.points);
  const double right =
      evaluate(guesses.tail(35).eval(), problem.target.labels.tail(35).eval()).accuracy();
  EXPECT_TRUE(contains(data["verdict"], "that the fit was not given a label of"))
      << data["verdict"];
  const Json rows = block(data, "table")["rows"];
  EXPECT_EQ(rows[1][1], fmt::format("{:.1f} %", 100 * right));
  for (const Json& row : rows) EXPECT_EQ(row[2], "without 5 points whose label the fit was given");
}

// -1 is a point whose label is not known: neither right nor wrong, and no class.
TEST(Page, UnknownLabelsAreNotScored) {
  Problem problem = small_problem();
  const Labels truth = problem.target.labels;
  const Model model = fit(problem);
  const Labels guesses = predict(model, problem.target.points);
  PageOptions page;
  page.target_labels = Labels::Constant(40, -1);
  page.target_labels.head(10) = guesses.head(10);
  const Json data = data_of(model, page);
  EXPECT_TRUE(contains(data["verdict"],
                       "100.0 % of the target points with a known label get the right label"))
      << data["verdict"];
  const Json row = block(data, "table")["rows"][1];
  EXPECT_EQ(row[1], "100.0 %");
  EXPECT_EQ(row[2], "10 of 40 true labels are known");
  EXPECT_EQ(warnings(data), "[]");
  EXPECT_EQ(block(data, "heat")["columns"][0], "unknown");
  page.target_labels.setConstant(-1);
  const Json nothing = data_of(model, page);
  EXPECT_TRUE(contains(nothing["verdict"], "no true label of the target points is known"))
      << nothing["verdict"];
  EXPECT_FALSE(contains(nothing.dump(), " 0.0 %\"")) << block(nothing, "table");
  EXPECT_EQ(block(nothing, "heat")["column_title"], "predicted class");
  EXPECT_EQ(warnings(nothing), "[]");
}

TEST(Page, LongHistoriesAreThinned) {
  Model model = small_model();
  model.history.resize(5000, model.history[0]);
  for (int k = 0; k < 5000; ++k) model.history[static_cast<std::size_t>(k)].step = k + 1;
  const Json data = data_of(model);
  int curves = 0;
  for (const Json& section : data["sections"])
    for (const Json& one : section["blocks"]) {
      if (one["kind"] != "lines" || one["x_title"] != "step") continue;
      ++curves;
      EXPECT_EQ(one["x"].size(), 400u);
      EXPECT_EQ(one["x"].front(), 1);
      EXPECT_EQ(one["x"].back(), 5000);
    }
  EXPECT_EQ(curves, 4);
}

TEST(Page, SamplesAreTheSameAndOfEveryKind) {
  const Vector weights = Vector::Ones(4000);
  const std::vector<Index> rows = sampled_rows(weights, 400);
  EXPECT_EQ(rows.size(), 400u);
  EXPECT_EQ(rows, sampled_rows(weights, 400));
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  std::vector<int> met(10, 0);
  for (const Index row : rows) ++met[static_cast<std::size_t>(row % 10)];
  EXPECT_GT(*std::min_element(met.begin(), met.end()), 10) << "labels may come in turns of ten";
  EXPECT_EQ(sampled_rows(Vector{{0, 1, 0, 2}}, 3), (std::vector<Index>{1, 3}));
}

TEST(Page, OnAPlaneTheProjectionKeepsDistances) {
  for (const double lambda : {0.3, 0.0}) {
    const Model model = fit(small_problem(12, 15, 2), {.lambda = lambda});
    const Projection view = project(model, 400);
    const auto between = [](const Matrix& a, const Matrix& b) {
      Matrix out(a.rows(), b.rows());
      for (Index i = 0; i < a.rows(); ++i)
        for (Index j = 0; j < b.rows(); ++j) out(i, j) = (a.row(i) - b.row(j)).norm();
      return out;
    };
    const Matrix expected = model.metric.distances(model.source.points, model.target.points);
    EXPECT_LT(test::difference(between(view.source_at, view.target_at), expected), 1e-8);
    const Matrix moved = model.metric.distances(map(model), model.target.points);
    EXPECT_LT(test::difference(between(view.mapped_at, view.target_at), moved), 1e-8);
    EXPECT_NEAR(view.shares[0] + view.shares[1], 1, 1e-9);
    EXPECT_GE(view.shares[0], view.shares[1]);
  }
}

TEST(Page, UnknownTargetLabelsAreCalledPredicted) {
  const Model model = small_model();
  const Json predicted = data_of(model);
  EXPECT_TRUE(contains(block(predicted, "heat").dump(), "predicted"));
  EXPECT_TRUE(block(predicted, "scatter")["predicted"]);
  PageOptions options;
  options.target_labels = small_problem().target.labels;
  const Json known = data_of(model, options);
  EXPECT_FALSE(contains(block(known, "heat").dump(), "predicted"));
  options.target_labels = Labels::Ones(3);
  EXPECT_TRUE(contains(message_of([&] { to_html(model, {}, options); }), "3 labels for 40"));
}

TEST(Page, WithoutSourceLabelsItSaysSo) {
  Problem problem = small_problem();
  problem.source.labels = problem.target.labels = {};
  const Json data = data_of(fit(problem));
  EXPECT_TRUE(contains(data.dump(), "have no labels"));
  EXPECT_TRUE(block(data, "heat").is_null());
  EXPECT_EQ(block(data, "scatter")["classes"].size(), 0u);
  problem.target.labels = small_problem().target.labels;
  EXPECT_TRUE(block(data_of(fit(problem)), "heat").is_null()) << "labels of the target alone";
}

TEST(Page, HistoryMayHoldWhatIsNoNumber) {
  Model model = small_model();
  ASSERT_GT(model.history.size(), 1u);
  model.history[0].objective = std::numeric_limits<double>::quiet_NaN();
  model.history[0].source_error = 0;  // has no logarithm
  model.status = {Outcome::diverged, "the numbers went wrong"};
  const Json data = data_of(model);
  const Json lines = block(data, "lines");
  EXPECT_TRUE(contains(warnings(data), "the numbers went wrong"));
  EXPECT_TRUE(contains(data["verdict"], "broke down"));
  std::map<std::string, Json> first;
  for (const Json& section : data["sections"])
    for (const Json& one : section["blocks"])
      if (one["kind"] == "lines") first[one["title"]] = one["series"][0]["values"][0];
  EXPECT_TRUE(first["Objective"].is_null());
  EXPECT_EQ(first["Error of the plan's marginals"], 0) << "a zero is a number";
  model.history.clear();
  EXPECT_NO_THROW(data_of(model));
}

TEST(Page, OddSizes) {
  const auto shows = [](const Problem& problem, const Options& options = {}) {
    const Json data = data_of(fit(problem, options));
    return !block(data, "scatter").is_null() && data["sections"].size() >= 4;
  };
  EXPECT_TRUE(shows(small_problem(1, 1, 2))) << "one point";
  EXPECT_TRUE(shows(small_problem(5, 4, 300))) << "many more features than points";
  EXPECT_TRUE(shows(small_problem(), {.lambda = 0}));
  for (const MetricChoice metric :
       {MetricChoice::identity, MetricChoice::w, MetricChoice::w_inverse})
    EXPECT_TRUE(shows(small_problem(), {.metric = metric}));
  EXPECT_TRUE(shows(small_problem(), {.preprocess = Preprocess::zscore}));
  EXPECT_TRUE(shows(small_problem(), {.preprocess = Preprocess::l2}));
  Problem line = small_problem(9, 8, 2);
  line.source.points.conservativeResize(9, 1);
  line.target.points.conservativeResize(8, 1);
  EXPECT_TRUE(shows(line)) << "one feature";
  Problem same = small_problem(6, 7, 3);
  same.source.points.setConstant(1);
  same.target.points.setConstant(1);
  EXPECT_TRUE(shows(same, {.metric = MetricChoice::identity})) << "all points in one place";
  Problem huge = small_problem();
  huge.source.points *= 1e90;
  huge.target.points *= 1e90;
  EXPECT_TRUE(shows(huge));
  EXPECT_TRUE(contains(message_of([] { to_html(Model{}, {}, {}); }), "no plan"));
}

}  // namespace
}  // namespace remblai
