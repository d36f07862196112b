// The page of a model: its numbers against their definitions, its words, and hostile names.
#include "remblai/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>

#include "json.h"
#include "linalg.h"
#include "page_data.h"
#include "page_shell.h"
#include "png.h"
#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "remblai/sample.h"
#include "support.h"

namespace remblai {
namespace {

using test::contains;
using test::message_of;
using test::small_problem;

Model small_model(Options options = {}) {
  Problem problem = small_problem();
  problem.target.labels = {};
  return fit(problem, options);
}

/// What stands between the tags of the data, as a browser would read it.
std::string raw_data(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

Json data_of(const Model& model, const PageOptions& options = {}, const Report& report = {}) {
  return Json::parse(raw_data(to_html(model, report, options)));
}

/// The first block of a kind; null when there is none.
Json block(const Json& data, const std::string& kind) {
  for (const Json& section : data["sections"])
    for (const Json& one : section["blocks"])
      if (one["kind"] == kind) return one;
  return nullptr;
}

std::string warnings(const Json& data) {
  return data["warnings"].dump();
}

TEST(Page, HasEverySectionAndNeedsNothing) {
  const Model model = small_model();
  Report report;
  report.test_accuracy = 0.875;
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
  options.scores = {{evil, 0.5, evil}};
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

TEST(Page, MassFromClassToClassIsThatOfThePlan) {
  for (const double lambda : {0.2, 0.0}) {
    Problem problem = small_problem();
    problem.source.weights = test::random_weights(30, 5);
    problem.source.weights[3] = 0;
    problem.target.weights = test::random_weights(40, 6);
    const Model model = fit(problem, {.lambda = lambda, .steps = 5, .tolerance = 1e-9});
    const PlanView view = view_plan(model, problem.target.labels, {.pairs = 5});
    EXPECT_NEAR(view.mass.sum(), 1, 1e-12);
    const Matrix g = plan(model);
    Matrix expected = Matrix::Zero(2, 2);
    for (Index i = 0; i < 30; ++i)
      for (Index j = 0; j < 40; ++j) expected(i % 2, j % 2) += g(i, j);
    EXPECT_LT(test::difference(view.mass, expected), 1e-6) << lambda;
    ASSERT_EQ(view.pairs.size(), 5u);
    EXPECT_NEAR(view.pairs[0].mass, g.maxCoeff(), 1e-9);
    for (const Pair& pair : view.pairs) {
      EXPECT_NEAR(g(pair.source, pair.target), pair.mass, 1e-9);
      EXPECT_NEAR(pair.share, pair.mass / model.source.weights[pair.source], 1e-9);
    }
  }
}

TEST(Page, FewRowsOfALargePlanStandForAll) {
  const Problem problem = small_problem(600, 50, 3);
  const Model model = fit(problem, {.lambda = 1, .steps = 3});
  const PlanView all = view_plan(model, problem.target.labels);
  const PlanView few = view_plan(model, problem.target.labels, {.rows = 100});
  EXPECT_EQ(all.rows, 600);
  EXPECT_NEAR(static_cast<double>(few.rows), 100, 2);
  EXPECT_LT(test::difference(few.mass, all.mass), 0.03);
  EXPECT_LT(test::difference(few.mass.rowwise().sum(), all.mass.rowwise().sum()), 1e-9)
      << "a class weighs what it weighs";
  const Json large = data_of(fit(small_problem(4100, 10, 2), {.lambda = 1, .steps = 1}));
  EXPECT_TRUE(contains(large.dump(), "Chosen among 4000 of 4100 source points"));
  EXPECT_TRUE(contains(large.dump(), "Counted over 4000 of the 4100 source points"));
}

TEST(Page, EveryClassWithMassIsFollowed) {
  Problem problem = small_problem(1000, 30, 3);
  for (const Index i : {17, 400, 801}) problem.source.labels[i] = 9;
  problem.source.labels[5] = 11;
  problem.source.weights = Vector::Constant(1000, 1);
  problem.source.weights[5] = 0;
  const Model model = fit(problem, {.steps = 2});
  const PlanView view = view_plan(model, problem.target.labels, {.rows = 100});
  EXPECT_LT(view.rows, 110);
  const Matrix g = plan(model);
  Vector expected = Vector::Zero(2);
  for (const Index i : {17, 400, 801})
    for (Index j = 0; j < 30; ++j) expected[j % 2] += g(i, j);
  EXPECT_LT(test::difference(view.mass.row(2).transpose(), expected), 1e-9)
      << "all points of a rare class";
  EXPECT_EQ(view.mass.row(3).sum(), 0);
  const Json data = data_of(model);
  EXPECT_TRUE(block(data, "heat")["shares"][3][0].is_null()) << "a dash, not 0 %";
  EXPECT_TRUE(contains(data.dump(), "A dash"));
}

TEST(Page, StrongestPairsAreAGreedyChoice) {
  Problem problem = small_problem(40, 6, 3);  // few targets, which many sources want
  problem.source.weights = test::random_weights(40, 5);
  for (const double lambda : {0.5, 0.0}) {
    const Model model = fit(problem, {.lambda = lambda, .steps = 3, .tolerance = 1e-10});
    Matrix left = plan(model);
    const PlanView view = view_plan(model, problem.target.labels, {.pairs = 6});
    ASSERT_GE(view.pairs.size(), 4u);
    for (const Pair& pair : view.pairs) {
      Index i = 0, j = 0;
      const double largest = left.maxCoeff(&i, &j);
      EXPECT_NEAR(pair.mass, largest, 1e-8) << lambda;
      left.row(pair.source).setZero();
      left.col(pair.target).setZero();
    }
    if (view.pairs.size() < 6u) {
      EXPECT_LT(left.maxCoeff(), 1e-8) << "nothing is left";
    }
  }
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
      accuracy(nearest_labels(problem.source.points, problem.source.labels, problem.target.points),
               problem.target.labels);
  EXPECT_TRUE(contains(rows[0][0], "no adaptation"));
  EXPECT_EQ(rows[0][1], fmt::format("{:.1f} %", 100 * nearest));
  EXPECT_TRUE(contains(rows[1][0], "this model"));
  PageOptions scored;
  scored.scores = {{.method = "mine", .accuracy = 0.5}};
  EXPECT_FALSE(contains(data_of(fit(problem), scored).dump(), "nearest source point"));
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

TEST(Page, LabelsOfTheModelAreTrueOnes) {
  const Problem problem = small_problem();
  const Model model = fit(problem);
  ASSERT_EQ(model.target.labels.size(), 40);
  const Json data = data_of(model);
  const double right = accuracy(predict(model, problem.target.points), problem.target.labels);
  EXPECT_TRUE(contains(data["verdict"], "of the target points get the right label"));
  EXPECT_EQ(data["sections"][0]["heading"], "Accuracy");
  EXPECT_NEAR(std::stod(data["sections"][0]["blocks"][1]["rows"][0][1].get<std::string>()),
              100 * right, 0.051);
}

TEST(Page, ManyClassesAreShownTogether) {
  const Classes few = group_classes(Labels{{5, 3, 5, -1}}, 3);
  EXPECT_EQ(few.shown, (Labels{{-1, 3, 5}}));
  EXPECT_FALSE(few.others);
  const Classes two = group_classes(Labels{{5, 3, 5, -1, 9, 9}}, 2);
  EXPECT_EQ(two.shown, (Labels{{5, 9}}));
  EXPECT_EQ(two.size(), 3);
  EXPECT_EQ(two.index(9), 1);
  EXPECT_EQ(two.index(3), 2);
  Problem problem = small_problem(60, 50, 3);
  for (Index i = 0; i < 60; ++i) problem.source.labels[i] = i;
  problem.target.labels = {};
  const Json data = data_of(fit(problem));
  EXPECT_EQ(block(data, "heat")["rows"].size(), 25u);
  EXPECT_EQ(block(data, "heat")["rows"][24], "others");
  EXPECT_EQ(block(data, "scatter")["classes"].size(), 25u);
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

TEST(Page, WarnsInPlainWords) {
  Problem problem = small_problem();
  problem.target.labels = {};
  const auto said = [&](const Options& options, const PageOptions& page = {}) {
    return warnings(data_of(fit(problem, options), page));
  };
  EXPECT_EQ(said({}), "[]");
  EXPECT_TRUE(contains(said({.steps = 1}), "did not converge"));
  EXPECT_TRUE(contains(said({.steps = 1}), "--steps"));
  EXPECT_TRUE(contains(said({.ridge = 50}), "ridge dominates"));
  EXPECT_FALSE(contains(said({.ridge = 0.01}), "ridge dominates"));
  EXPECT_TRUE(contains(said({.lambda = 100}), "hardly depends"));
  problem.source.labels.setConstant(3);
  EXPECT_TRUE(contains(said({}), "same label"));
}

TEST(Page, WarnsOfClasses) {
  Problem problem = small_problem();
  problem.target.labels = {};
  const auto said = [&](const PageOptions& page) { return warnings(data_of(fit(problem), page)); };
  PageOptions page;
  page.predicted = Labels::Constant(40, 3);
  EXPECT_TRUE(contains(said(page),
                       "No target point was given class 7, though its source points hold 50.0 % of "
                       "the mass."))
      << said(page);
  EXPECT_TRUE(contains(said(page), "If that class should be there, lower --lambda"));
  EXPECT_FALSE(contains(said(page), "--source-weights"));
  // The true labels tell the two cases apart.
  page.target_labels = Labels::Constant(40, 3);
  page.target_labels[0] = 9;
  EXPECT_TRUE(contains(said(page), "The target has no point of class 7"));
  EXPECT_TRUE(contains(said(page), "--source-weights"));
  EXPECT_FALSE(contains(said(page), "--lambda"));
  EXPECT_TRUE(contains(said(page), "No source point is of class 9"));
  page.target_labels[1] = 7;
  EXPECT_TRUE(contains(said(page), "No target point was given class 7"));
  EXPECT_TRUE(contains(said(page), "it is in the target"));
  EXPECT_FALSE(contains(said(page), "--source-weights"));
  page.target_labels.setConstant(1);
  EXPECT_TRUE(contains(said(page), "no point of classes 3, 7, so that the mass of their source"));
  // What weighs nothing is not there.
  page = {};
  page.predicted = Labels::Constant(40, 3);
  page.predicted[0] = 7;
  EXPECT_EQ(said(page), "[]");
  problem.target.weights = Vector::Ones(40);
  problem.target.weights[0] = 0;
  EXPECT_TRUE(contains(said(page), "No target point was given class 7")) << said(page);
  problem.source.labels[0] = 8;
  problem.source.weights = Vector::Ones(30);
  problem.source.weights[0] = 0;
  EXPECT_FALSE(contains(said(page), "8")) << said(page);
}

TEST(Page, AMatchingOfUnequalWeightsDependsOnThePoints) {
  Problem problem;
  problem.source.points = Matrix{{0, 0}, {1, 1}};
  problem.target.points = problem.source.points;
  problem.source.weights = problem.target.weights = Vector{{0.996, 0.004}};
  const Options options{.metric = MetricChoice::identity, .lambda = 0.01};
  EXPECT_FALSE(contains(warnings(data_of(fit(problem, options))), "hardly depends"));
  problem.source.weights = Vector{{1, 0}};
  EXPECT_FALSE(contains(warnings(data_of(fit(problem, options))), "hardly depends"))
      << "one point has no choice";
}

TEST(Page, TheRidgeIsWeighedWhereThereAreData) {
  // Scaled, so that no factor of the units can be forgotten.
  Problem problem = small_problem(20, 20, 5);
  problem.source.points *= 1000;
  problem.target.points *= 1000;
  const Model model = fit(problem, {.ridge = 50});
  const Step& last = model.history.back();
  const double share = last.ridge_term / (last.ridge_term + last.transport_cost);
  EXPECT_TRUE(contains(warnings(data_of(model)),
                       "takes " + std::to_string(std::lround(100 * share)) + " %"))
      << share << warnings(data_of(model));
  // A thousand coordinates that never vary are none of the data's business.
  problem.source.points.conservativeResize(20, 1000);
  problem.target.points.conservativeResize(20, 1000);
  problem.source.points.rightCols(995).setZero();
  problem.target.points.rightCols(995).setZero();
  const Model wide = fit(problem, {.ridge = 1});
  EXPECT_GT(wide.history.back().ridge_term, 2 * wide.history.back().transport_cost);
  EXPECT_FALSE(contains(warnings(data_of(wide)), "ridge dominates")) << warnings(data_of(wide));
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

TEST(Page, ImagesAreRecognised) {
  const Sample digits = mnist_sample();
  Problem problem;
  problem.source.points = digits.source.points.topRows(80);
  problem.source.labels = digits.source.labels.head(80);
  problem.target.points = digits.target.points.topRows(80);
  const Options quick{.steps = 1, .tolerance = 1e-2};
  Model model = fit(problem, quick);
  EXPECT_EQ(image_size(model, {}).rows, 28);
  const std::string page = to_html(model, {}, {});
  EXPECT_LT(page.size(), 2'000'000u);
  const Json data = Json::parse(raw_data(page));
  EXPECT_FALSE(block(data, "pairs").is_null());
  EXPECT_TRUE(block(data, "pictures")["sheet"]["uri"].get<std::string>().starts_with(
      "data:image/png;base64,iVBORw0KGgo"));
  EXPECT_TRUE(block(data, "scatter")["clouds"][1].contains("sheet"));
  PageOptions options;
  options.images = false;
  EXPECT_TRUE(block(data_of(model, options), "pairs").is_null());
  options = {};
  options.image_size = {14, 56};
  EXPECT_EQ(block(data_of(model, options), "pairs")["sources"]["width"], 56);
  options.image_size = {28, 27};
  EXPECT_TRUE(contains(message_of([&] { to_html(model, {}, options); }), "28 x 27"));
  // The same numbers in another order are no image; nor is a table with names or negative numbers.
  std::mt19937 engine(1);
  std::vector<Index> order(784);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  std::shuffle(order.begin(), order.end(), engine);
  Model shuffled = model;
  shuffled.source.points = Matrix(model.source.points(Eigen::all, order));
  EXPECT_EQ(image_size(shuffled, {}).rows, 0);
  Model negative = model;
  negative.source.points.array() -= 0.5;
  EXPECT_EQ(image_size(negative, {}).rows, 0);
  model.features.assign(784, "x");
  EXPECT_EQ(image_size(model, {}).rows, 0);
}

TEST(Page, SpectraAreNoImages) {
  for (const double width : {2.0, 6.0, 20.0}) {
    Problem problem = small_problem(60, 60, 256);
    std::mt19937_64 engine(3);
    for (Domain* domain : {&problem.source, &problem.target})
      for (Index i = 0; i < 60; ++i) {
        const double at = 256 * test::uniform(engine);
        for (Index k = 0; k < 256; ++k)
          domain->points(i, k) = std::exp(-std::pow((static_cast<double>(k) - at) / width, 2) / 2);
      }
    const Model model = fit(problem, {.steps = 1, .tolerance = 1e-2});
    EXPECT_EQ(image_size(model, {}).rows, 0) << width;
  }
}

TEST(Page, PicturesAreWhatTheStandardSays) {
  const std::string file = png({2, 1, 1, {0, 255}});
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(file.substr(12, 4), "IHDR");
  EXPECT_EQ(file.substr(16, 13), std::string("\0\0\0\2\0\0\0\1\x08\0\0\0\0", 13));
  // What every file ends in, with its checksum.
  EXPECT_EQ(file.substr(file.size() - 12), std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12));
  for (const int width : {1, 2, 3}) {
    const Picture picture{width, 1, 4, std::vector<std::uint8_t>(4u * width, 7)};
    EXPECT_EQ((data_uri(picture).size() - 22) % 4, 0u);
  }
}

}  // namespace
}  // namespace remblai
