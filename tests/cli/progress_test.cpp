// What a person sees while a fit runs, and what Ctrl-C or a failure after it leaves behind.
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

using nlohmann::json;

/// Points that keep a fit busy for longer than any test waits.
void write_large_data(const std::string& path, Index count, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  Matrix points(count, 30);
  for (double& value : points.reshaped()) value = normal(generator);
  io::write_npy(path, points);
}

const Words endless{"--steps", "100000", "--outer-tolerance", "0", "--inner", "tight"};

TEST_F(Cli, FirstCtrlCWritesWhatIsThere) {
  write_large_data(at("source.npy"), 200, 1);
  write_large_data(at("target.npy"), 200, 2);
  io::write_npy(at("source_labels.npy"), Labels(Labels::Zero(200)));
  Process process(Words{binary()} + small_adapt() + endless);
  const auto begin = std::chrono::steady_clock::now();
  const auto begun = [&] { return names_in(folder_)[0].starts_with(".remblai-"); };
  while (!begun() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(begun()) << "the fit never began";
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(exists(at("out"))) << "results aside while the fit runs";
  process.send(SIGINT);
  const Finished result = process.wait();
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_NE(result.err.find("stopped by Ctrl-C"), std::string::npos) << result.err;
  EXPECT_EQ(names_in(at("out")), (Words{"labels.npy", "mapped.npy", "model.npz", "report.json"}));
  const json report = json::parse(read(at("out/report.json")));
  EXPECT_GE(report["history"].size(), 1u);
  EXPECT_EQ(load(at("out/model.npz")).status.outcome, Outcome::stopped);
}

TEST_F(Cli, TerminationWritesWhatIsThereToo) {
  write_large_data(at("source.npy"), 200, 1);
  write_large_data(at("target.npy"), 200, 2);
  io::write_npy(at("source_labels.npy"), Labels(Labels::Zero(200)));
  Process process(Words{binary()} + small_adapt() + endless, {}, true);
  process.wait_for(" left");
  process.send(SIGTERM);
  const Finished result = process.wait();
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_NE(result.err.find("stopping: results are being written; Ctrl-C again aborts and loses"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(names_in(at("out")), (Words{"labels.npy", "mapped.npy", "model.npz", "report.json"}));
}

TEST_F(Cli, CtrlCAfterTheFitKeepsTheFit) {
  write_large_data(at("source.npy"), 200, 1);
  write_large_data(at("target.npy"), 200, 2);
  write_large_data(at("test.npy"), 100000, 3);
  io::write_npy(at("source_labels.npy"), Labels(Labels::Zero(200)));
  Process process(Words{binary()} + small_adapt() +
                  Words{"--metric", "identity", "--test", at("test.npy")});
  const auto saved = [&] { return !shell("ls " + folder_ + "/.remblai-*/model.npz").out.empty(); };
  const auto begin = std::chrono::steady_clock::now();
  while (!saved() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    if (exists(at("out/model.npz"))) GTEST_SKIP() << "over before it could be stopped";
  }
  process.send(SIGINT);
  const Finished result = process.wait();
  if (result.code == 0) GTEST_SKIP() << "over before it could be stopped";
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_EQ(load(at("out/model.npz")).status.outcome, Outcome::converged);
  EXPECT_EQ(json::parse(read(at("out/report.json")))["status"], "converged");
  EXPECT_EQ(exists(at("out/test_labels.npy")), result.err.find("not written") == std::string::npos)
      << result.err;
}

TEST_F(Cli, FailureAfterTheFitKeepsTheFit) {
  write_large_data(at("source.npy"), 400, 1);
  write_large_data(at("target.npy"), 400, 2);
  io::write_npy(at("source_labels.npy"), Labels(Labels::Zero(400)));
  std::string command = "ulimit -f 800; " + binary();
  for (const std::string& word : small_adapt()) command += " '" + word + "'";
  const Finished result = shell(command + " --metric identity --save-plan");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("plan.npy"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("the fit is kept"), std::string::npos) << result.err;
  EXPECT_EQ(names_in(at("out")), (Words{"labels.npy", "mapped.npy", "model.npz", "report.json"}));
  EXPECT_EQ(load(at("out/model.npz")).source.size(), 400);
}

TEST_F(Cli, AReportThatCannotBeWrittenLosesNothingElse) {
  write_small_data();
  Words words = small_adapt() +
                Words{"--method", "paper", "--metric", "identity", "--test", at("target.npy")};
  for (std::string& word : words)  // long names in the report make it the largest file
    if (word.ends_with(".npy"))
      for (int k = 0; k < 1900; ++k) word.insert(word.rfind('/'), "/.");
  std::string command = binary();
  for (const std::string& word : words) command += " '" + word + "'";
  ASSERT_EQ(shell(command).code, 0);
  const auto size = [&](const char* name) { return std::filesystem::file_size(at(name)); };
  const auto blocks = size("out/report.json") / 1024 - 1;  // of 512 or 1024 bytes
  ASSERT_LT(size("out/model.npz"), 512 * blocks);
  std::filesystem::remove_all(at("out"));
  const Finished result =
      shell("trap '' XFSZ; ulimit -f " + std::to_string(blocks) + "; " + command);
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("the fit is kept"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("not written: report.json"), std::string::npos) << result.err;
  EXPECT_EQ(names_in(at("out")),
            (Words{"labels.npy", "mapped.npy", "model.npz", "test_labels.npy"}));
  EXPECT_EQ(load(at("out/model.npz")).source.size(), 40);
}

TEST_F(Cli, PhasesOfALongRunAreShownOnATerminal) {
  write_large_data(at("source.npy"), 200, 1);
  write_large_data(at("target.npy"), 200, 2);
  io::write_npy(at("source_labels.npy"), Labels(Labels::Zero(200)));
  Process process(Words{binary()} + small_adapt() + endless, {}, true);
  process.wait_for("elapsed 2.");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // 1.95 s show as 2.0
  process.send(SIGINT);
  const Finished result = process.wait();
  for (const char* part : {"\rmapping...", "\rlabelling..."}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " in " << result.err;
  }
}

TEST_F(Cli, ProgressLineOnATerminalOnly) {
  write_large_data(at("source.npy"), 200, 1);
  write_large_data(at("target.npy"), 200, 2);
  const Words words = Words{binary(),         "fit",   "--source",     at("source.npy"), "--target",
                            at("target.npy"), "--out", at("model.npz")} +
                      endless;
  Process shown(words, {}, true);
  const std::string line = shown.wait_for(" left");
  shown.send(SIGINT);
  EXPECT_EQ(shown.wait().code, 130);
  for (const char* part :
       {"\rstep ", "/100000", "objective ", "marginal error ", "elapsed ", "about "}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  }
  EXPECT_EQ(line.find("pass "), std::string::npos) << line;
  Process quiet(words + Words{"--quiet", "--overwrite"}, {}, true);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  quiet.send(SIGINT);
  const Finished result = quiet.wait();
  EXPECT_EQ(result.code, 130);
  EXPECT_EQ(result.err.find("\rstep "), std::string::npos) << result.err;
}

TEST_F(Cli, ProgressLineOfAFixedMetricCountsPasses) {
  write_large_data(at("source.npy"), 1000, 1);
  write_large_data(at("target.npy"), 1000, 2);
  Process shown(
      {binary(), "fit", "--source", at("source.npy"), "--target", at("target.npy"), "--out",
       at("model.npz"), "--metric", "identity", "--lambda", "1e-4", "--tolerance", "1e-15"},
      {}, true);
  const std::string line = shown.wait_for("elapsed ");
  shown.send(SIGINT);
  EXPECT_NE(line.find("\rpass "), std::string::npos) << line;
  EXPECT_NE(line.find("marginal error "), std::string::npos) << line;
  EXPECT_EQ(line.find("step "), std::string::npos) << line;
  EXPECT_EQ(shown.wait().err.find(" left"), std::string::npos);
}

}  // namespace
}  // namespace remblai::cli_test
