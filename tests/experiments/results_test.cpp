// The table: means, errors, differences and marks, against numbers worked out by hand.
#include "results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "support.h"

namespace remblai::experiments {
namespace {

class ResultsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove(path_);
    journal_ = std::make_unique<Journal>(path_, Json::object(), false);
    settings_.methods = {"none", "learned"};
    settings_.lambdas = {0.5, 0.1};
    settings_.ridges = {1};
    experiment_.title = "A title";
    experiment_.row_heading = "skew";
    experiment_.published_rows = 2;
    experiment_.published = [](const std::string& row,
                               const std::string& method) -> std::optional<double> {
      if (method != "learned") return std::nullopt;
      return row == "average" ? 77.5 : row == "10" ? 75 : 80;
    };
    add("10", 0, 0.7, 0.80);
    add("10", 1, 0.9, 0.84);
    add("20", 0, 0.5, 0.40);
    add("20", 1, 0.5, 0.60);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void add(const std::string& row, int seed, double none, double learned) {
    const Task task{row, "task" + row, seed, ""};
    experiment_.tasks.push_back(task);
    Trial plain;
    plain.method = "none";
    plain.lambda = plain.ridge = std::nan("");
    plain.test_accuracy = none;
    plain.chosen = true;
    Trial worse, better;
    worse.method = better.method = "learned";
    worse.lambda = 0.5;
    better.lambda = 0.1;
    worse.steps = better.steps = 3;
    worse.test_accuracy = 1;  // only the chosen one counts
    worse.outcome = Outcome::iteration_limit;
    better.test_accuracy = learned;
    better.chosen = true;
    better.seconds = 123.5;
    journal_->append(task, {plain, worse, better});
  }

  std::string path_ = test::scratch_path("results_test");
  Experiment experiment_;
  Settings settings_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(ResultsTest, MeansErrorsAndDifferences) {
  const Table table = summarise(experiment_, settings_, *journal_);
  ASSERT_EQ(table.rows.size(), 3u);
  const Cell& none = table.rows[0].cells[0];
  const Cell& learned = table.rows[0].cells[1];
  EXPECT_NEAR(none.mean, 80, 1e-12);
  EXPECT_NEAR(none.error.value(), 10, 1e-12);  // of 70 and 90
  EXPECT_FALSE(none.published);
  EXPECT_NEAR(learned.mean, 82, 1e-12);
  EXPECT_NEAR(learned.error.value(), 2, 1e-12);
  EXPECT_TRUE(learned.best);
  EXPECT_FALSE(none.best);
  EXPECT_TRUE(table.rows[1].cells[0].best);  // 50 both
  EXPECT_TRUE(table.rows[1].cells[1].best);
  EXPECT_EQ(table.rows[2].name, "average");
  EXPECT_EQ(table.rows[2].draws, 4);
  EXPECT_NEAR(table.rows[2].cells[1].mean, 66, 1e-12);
  EXPECT_NEAR(table.rows[2].cells[1].error.value(), std::hypot(2, 10) / 2, 1e-12);
  EXPECT_EQ(table.rows[2].cells[1].published, 77.5);
  EXPECT_EQ(table.chosen_not_converged, 0);
}

TEST_F(ResultsTest, ThePapersAverageIsOfAllItsRows) {
  experiment_.published_rows = 3;
  EXPECT_FALSE(summarise(experiment_, settings_, *journal_).rows[2].cells[1].published);
}

TEST_F(ResultsTest, OneTaskHasNoErrorAndOneRowNoAverage) {
  experiment_.tasks.resize(1);
  const Table table = summarise(experiment_, settings_, *journal_);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_FALSE(table.rows[0].cells[0].error);
}

TEST_F(ResultsTest, ScreenAndMarkdownShowTheSame) {
  experiment_.missing = {"A-C needs caltech.mat"};
  const Table table = summarise(experiment_, settings_, *journal_);
  const std::string plain = screen(table, false), text = markdown(table);
  EXPECT_TRUE(test::contains(plain, "*82.00 ± 2.00")) << plain;
  EXPECT_TRUE(test::contains(screen(table, true), "\033[1m"));
  EXPECT_TRUE(test::contains(text,
                             "| 10 (2 draws) | 80.00 ± 10.00 | **82.00 ± 2.00** |\n"
                             "| paper |  | 75.00 |\n| difference |  | +7.00 |\n"))
      << text;
  for (const std::string& shown : {plain, text}) {
    EXPECT_TRUE(test::contains(shown, "uses target labels"));
    EXPECT_TRUE(test::contains(shown, "4 of 8 fits converged"));
    EXPECT_TRUE(test::contains(shown, "Not run: A-C needs caltech.mat."));
  }
}

TEST_F(ResultsTest, EveryRunIsInTheFilesAndTimesAreApart) {
  const std::string csv = runs_csv(experiment_, *journal_);
  EXPECT_TRUE(test::contains(csv, "task10,0,none,,,0,0.7,0,0,converged,1\n")) << csv;
  EXPECT_TRUE(test::contains(csv, "task10,0,learned,0.5,0,0,1,3,0,iteration-limit,0\n")) << csv;
  const std::string text = runs_json(experiment_, *journal_, {{"version", "1"}});
  const Json json = Json::parse(text);
  EXPECT_EQ(json.at("version"), "1");
  ASSERT_EQ(json.at("runs").size(), 12u);
  EXPECT_EQ(json.at("runs")[2].at("test_accuracy"), 0.8);
  EXPECT_TRUE(json.at("runs")[0].at("lambda").is_null());
  for (const std::string& file :
       {csv, text, markdown(summarise(experiment_, settings_, *journal_))})
    EXPECT_FALSE(test::contains(file, "123.5"));
  EXPECT_TRUE(test::contains(times_csv(experiment_, *journal_), "task10,0,learned,0.1,0,123.5000"));
}

}  // namespace
}  // namespace remblai::experiments
