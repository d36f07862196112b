// Selections of tasks, and the loop over them: any number of jobs, stopping, failing.
#include "experiment.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "digits.h"
#include "journal.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "results.h"
#include "support.h"

namespace remblai::experiments {
namespace {

class ExperimentTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Six tasks without files.
  static Experiment small_experiment() {
    Experiment experiment;
    for (int seed = 0; seed < 6; ++seed) experiment.tasks.push_back({"row", "task", seed, "data"});
    experiment.draw = [](const Task& task) {
      const auto seed = static_cast<unsigned>(task.seed);
      const Problem problem = test::small_problem(30, 40, 5, seed);
      return Split{problem.source, problem.target, test::small_problem(30, 40, 5, seed + 9).target};
    };
    experiment.published = [](const std::string&, const std::string&) { return std::nullopt; };
    return experiment;
  }

  static Settings small_settings() {
    Settings settings;
    settings.methods = {"none", "ot-identity", "learned"};
    settings.lambdas = {1, 0.1};
    return settings;
  }

  std::string folder_ = test::scratch_path("experiment_test");
};

TEST_F(ExperimentTest, TheNumberOfJobsChangesNothing) {
  const Experiment experiment = small_experiment();
  std::string first;
  for (const int jobs : {1, 3, 50}) {
    Journal journal(folder_ + "/" + std::to_string(jobs), Json::object(), false);
    ASSERT_TRUE(
        run_tasks(experiment, small_settings(), jobs, journal, [](std::size_t) { return true; }));
    const std::string runs = runs_csv(experiment, journal);
    if (first.empty()) first = runs;
    EXPECT_EQ(runs, first) << jobs;
  }
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 1 + 6 * 5);
}

TEST_F(ExperimentTest, WhatWasStoppedGoesOn) {
  Experiment experiment = small_experiment();
  std::atomic<int> drawn = 0;
  std::atomic<bool> asked = false;
  const auto draw = experiment.draw;
  experiment.draw = [&](const Task& task) {
    ++drawn;
    // The third task lasts until the loop has been asked to stop.
    while (task.seed == 2 && !asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return draw(task);
  };
  Journal journal(folder_ + "/journal", Json::object(), false);
  EXPECT_FALSE(run_tasks(experiment, small_settings(), 1, journal, [&](std::size_t done) {
    if (done == 2) asked = true;
    return done < 2;
  }));
  const auto kept = std::count_if(experiment.tasks.begin(), experiment.tasks.end(),
                                  [&](const Task& task) { return journal.find(task); });
  EXPECT_GE(kept, 2);
  EXPECT_LT(kept, 6);
  drawn = 0;
  EXPECT_TRUE(run_tasks(experiment, small_settings(), 1, journal, [&](std::size_t done) {
    EXPECT_GE(done, static_cast<std::size_t>(kept));
    return true;
  }));
  EXPECT_EQ(drawn, 6 - kept);
}

TEST_F(ExperimentTest, AFailureEndsTheLoopAndKeepsWhatIsDone) {
  Experiment experiment = small_experiment();
  const auto draw = experiment.draw;
  experiment.draw = [&](const Task& task) {
    if (task.seed == 3) throw Error("no such points");
    return draw(task);
  };
  Journal journal(folder_ + "/journal", Json::object(), false);
  EXPECT_EQ(test::message_of([&] {
              run_tasks(experiment, small_settings(), 1, journal, [](std::size_t) { return true; });
            }),
            "no such points");
  for (int seed = 0; seed < 3; ++seed)
    EXPECT_NE(journal.find({"row", "task", seed, "data"}), nullptr);
}

TEST_F(ExperimentTest, MnistTasksAreTheProductOfTheSelection) {
  test::write_digits(folder_);
  const Experiment experiment =
      mnist_experiment(folder_, {.skews = {10, 50}, .digits = {2, 8}, .seeds = 3});
  ASSERT_EQ(experiment.tasks.size(), 12u);
  EXPECT_EQ(experiment.tasks[4].name, "skew10-digit8");
  EXPECT_EQ(experiment.tasks[4].row, "10");
  EXPECT_EQ(experiment.tasks[4].seed, 1);
  EXPECT_EQ(experiment.draw(experiment.tasks[11]).train.size(), 500);
  EXPECT_EQ(experiment.published("10", "learned"), 82.44);
  const auto message = [&](const MnistSelection& selection) {
    return test::message_of([&] { mnist_experiment(folder_, selection); });
  };
  EXPECT_EQ(message({.skews = {101}}), "--skew: 101 is not between 0 and 100");
  EXPECT_EQ(message({.digits = {0, 10}}), "--digit: 10 is not between 0 and 9");
  EXPECT_EQ(message({.seeds = 0}), "--seeds: 0 is less than 1");
}

TEST_F(ExperimentTest, OfficeTasksAreThoseWhoseDomainsAreThere) {
  for (const char* features : {"decaf6", "other"})
    for (const char* domain : {"dslr", "webcam"}) {
      const std::string folder = folder_ + "/office-caltech/" + features;
      std::filesystem::create_directories(folder);
      Labels labels(120);
      for (Index i = 0; i < 120; ++i) labels[i] = i % 10 + 1;
      io::write_npz(folder + "/" + domain + ".npz",
                    {{"feas", test::random_matrix(120, 3, 1)}, {"labels", labels}});
    }
  const Experiment decaf = office_caltech_experiment(folder_, {});
  EXPECT_EQ(decaf.tasks.size(), 10u);  // D-W and W-D, five seeds
  EXPECT_EQ(decaf.missing.size(), 10u);
  EXPECT_TRUE(test::contains(decaf.missing[0], "A-C needs ")) << decaf.missing[0];
  EXPECT_TRUE(test::contains(decaf.missing[0], "decaf6/caltech.mat")) << decaf.missing[0];
  // The paper only speaks of its own features.
  EXPECT_EQ(decaf.published("D-W", "learned"), 95.00);
  const OfficeCaltechSelection two{.features = "other", .tasks = {"W-D"}, .seeds = 2};
  EXPECT_EQ(office_caltech_experiment(folder_, two).tasks.size(), 2u);
  EXPECT_FALSE(office_caltech_experiment(folder_, two).published("W-D", "learned"));
  const OfficeCaltechSelection path{.features = folder_ + "/office-caltech/other", .tasks = {}};
  EXPECT_EQ(office_caltech_experiment("/nowhere", path).tasks.size(), 10u);
  const std::string message =
      test::message_of([&] { office_caltech_experiment(folder_, {.tasks = {"A-C"}}); });
  EXPECT_TRUE(test::contains(message, "no task can run: A-C needs ")) << message;
}

}  // namespace
}  // namespace remblai::experiments
