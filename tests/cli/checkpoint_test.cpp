// Runs that are killed go on from their checkpoint; what a fit takes is said beforehand.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "harness.h"
#include "remblai/io.h"
#include "remblai/model_io.h"

namespace remblai::cli_test {
namespace {

class Kept : public Cli {
 protected:
  void write_clouds(Index count) const {
    std::mt19937_64 generator(3);
    std::normal_distribution<double> normal;
    for (const char* name : {"source.npy", "target.npy"}) {
      Matrix points(count, 20);
      for (double& value : points.reshaped()) value = normal(generator);
      io::write_npy(at(name), points);
    }
  }

  Words fit_into(const std::string& out) const {
    return {"fit",   "--source", at("source.npy"),    "--target", at("target.npy"),
            "--out", at(out),    "--outer-tolerance", "0",        "--threads",
            "1"};
  }

  void wait_for_change_of(const std::string& file) const {
    const auto before = std::filesystem::last_write_time(at(file));
    while (std::filesystem::last_write_time(at(file)) == before)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
};

TEST_F(Kept, KilledAtRandomMomentsItEndsInTheSameModel) {
  write_clouds(150);
  const Words many{"--steps", "1500", "--inner", "tight"};
  ASSERT_EQ(run(fit_into("whole.npz") + many).code, 3);
  const Words kept{"--checkpoint", at("state.npz"), "--resume"};
  std::mt19937 random(11);
  for (int kill = 0; kill < 4; ++kill) {
    Process process(Words{binary()} + fit_into("model.npz") + many + kept);
    std::this_thread::sleep_for(std::chrono::milliseconds(200 + random() % 1500));
    process.send(SIGKILL);
    const Finished result = process.wait();
    if (result.code == 3) break;  // it was faster
    EXPECT_EQ(result.code, 128 + SIGKILL);
    EXPECT_FALSE(exists(at("model.npz")));
  }
  if (!exists(at("model.npz"))) {
    const Finished result = run(fit_into("model.npz") + many + kept);
    ASSERT_EQ(result.code, 3) << result.err;
  }
  EXPECT_FALSE(exists(at("state.npz"))) << "the model is there, its checkpoint is not needed";
  const Model whole = load(at("whole.npz")), model = load(at("model.npz"));
  EXPECT_EQ(model.f, whole.f);
  EXPECT_EQ(model.metric.factor, whole.metric.factor);
  EXPECT_EQ(model.history.size(), whole.history.size());
}

TEST_F(Kept, CtrlCKeepsTheCheckpoint) {
  write_clouds(100);
  const Words endless{"--steps", "1000000", "--inner", "tight"};
  Process process(Words{binary()} + fit_into("model.npz") + endless +
                  Words{"--checkpoint", at("state.npz")});
  while (!exists(at("state.npz"))) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // What is there first has no step yet, and a run would begin anew from it.
  wait_for_change_of("state.npz");
  process.send(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  EXPECT_TRUE(exists(at("state.npz")));
  const std::size_t stopped_after = load(at("model.npz")).history.size();
  // The same command goes on, and replaces what the stopped run left.
  Process again(Words{binary()} + fit_into("model.npz") + endless +
                Words{"--checkpoint", at("state.npz"), "--resume"});
  wait_for_change_of("state.npz");
  again.send(SIGINT);
  EXPECT_EQ(again.wait().code, 130);
  EXPECT_GT(load(at("model.npz")).history.size(), stopped_after);
  expect_refused(fit_into("other.npz") + Words{"--checkpoint", at("state.npz")},
                 {"--checkpoint", "--resume", "--overwrite"});
  expect_refused(fit_into("other.npz") + Words{"--checkpoint", at("state.npz"), "--resume"},
                 {"checkpoint", "other data or other options"});
  expect_refused(fit_into("other.npz") + Words{"--resume"}, {"--resume", "--checkpoint"});
  expect_refused(fit_into("other.npz") + Words{"--checkpoint", at("source.npy")}, {".npz"});
}

TEST_F(Kept, ADryRunWritesNothing) {
  write_clouds(100);
  const Finished result = run(fit_into("model.npz") + Words{"--dry-run"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"memory ", "one pass ", "one step ", "the whole fit "})
    EXPECT_NE(result.out.find(part), std::string::npos) << result.out;
  EXPECT_EQ(names_in(folder_), (Words{"source.npy", "target.npy"}));
  const nlohmann::json told =
      nlohmann::json::parse(run(fit_into("model.npz") + Words{"--dry-run", "--json"}).out)
          .at("estimate");
  EXPECT_EQ(told.at("steps"), 100);
  EXPECT_EQ(told.at("stored"), true);
  EXPECT_GT(told.at("memory").get<double>(), 8 * 100 * 100);
  EXPECT_DOUBLE_EQ(told.at("seconds").get<double>(), 100 * told.at("step_seconds").get<double>());
}

TEST_F(Kept, InfoDescribesACheckpoint) {
  write_clouds(100);
  Process process(Words{binary()} + fit_into("model.npz") +
                  Words{"--steps", "100000", "--checkpoint", at("state.npz")});
  while (!exists(at("state.npz"))) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  process.send(SIGKILL);
  process.wait();
  const Finished result = run({"info", at("state.npz")});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"state.npz: a checkpoint of remblai", "--resume", "paper", " made"})
    EXPECT_NE(result.out.find(part), std::string::npos) << result.out;
}

TEST_F(Kept, MoreMemoryThanThereIsIsRefusedAtOnce) {
  write_clouds(200'000);
  const Words much{"--memory", "100000"};
  expect_refused(fit_into("model.npz") + much,
                 {"200000 x 200000 points", "need about 7.5e+02 GiB", "GiB are free",
                  "give a smaller --memory, --precision float or fewer points"});
  EXPECT_EQ(names_in(folder_), (Words{"source.npy", "target.npy"}));
}

TEST_F(Kept, AFitOfDaysIsAWarningWithThreeThingsThatHelp) {
  write_clouds(200'000);
  const Words long_one{"--lambda", "0.001", "--device", "cpu"};
  Process process(Words{binary()} + fit_into("model.npz") + long_one, {{"TERM", "xterm"}}, true);
  process.wait_for("is reached");  // the last words of the warning
  process.send(SIGKILL);
  const std::string shown = process.wait().err;
  const auto at = shown.find("warning: this will take about ");
  ASSERT_NE(at, std::string::npos) << shown;
  EXPECT_GT(std::stod(shown.substr(at + 30)), 1) << shown;
  for (const char* part : {" days; --precision float, ", "a larger --lambda",
                           "would make it faster", "--checkpoint keeps what is reached"})
    EXPECT_NE(shown.find(part), std::string::npos) << part << " in " << shown;
}

}  // namespace
}  // namespace remblai::cli_test
