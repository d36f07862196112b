// What outputs may replace: never an input, and nothing that is not ours without being told to.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "harness.h"
#include "remblai/io.h"

namespace remblai::cli_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class OutputRule : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_small_data();
  }

  Words fit_into(const std::string& out) const {
    return {"fit", "--source", at("source.npy"), "--target", at("target.npy"), "--out", out};
  }

  /// A run that is stopped after `meanwhile`. Its first line on a terminal comes when everything
  /// was looked at.
  Finished finished(const Words& words, const std::function<void()>& meanwhile) const {
    Process process(Words{binary()} + words + without_end, {{"TERM", "xterm"}}, true);
    process.wait_for(" left");
    meanwhile();
    process.send(SIGINT);
    return process.wait();
  }
};

TEST_F(OutputRule, NoInputIsEverReplaced) {
  ASSERT_EQ(run(fit_into(at("model.npz"))).code, 0);
  const std::string model = read(at("model.npz")), target = read(at("target.npy"));
  fs::create_symlink("target.npy", at("link.npy"));
  fs::create_hard_link(at("target.npy"), at("twin.npy"));
  for (const std::string out : {"target.npy", "link.npy", "twin.npy", "./target.npy"})
    expect_refused({"map", "--model", at("model.npz"), "--points", at("target.npy"), "--out",
                    at(out), "--overwrite"},
                   {"--out", out, "that is the file of --points"});
  io::write_npz(at("data.npz"), {{"x", io::read_points(at("source.npy"))},
                                 {"y", io::read_points(at("target.npy"))}});
  expect_refused({"fit", "--source", at("data.npz:x"), "--target", at("data.npz:y"), "--out",
                  at("data.npz"), "--overwrite"},
                 {"--out", "that is the file of --source"});
  write(at("cost.npz"), read(at("data.npz")));
  expect_refused({"bench", "transport", "--cost", at("cost.npz:x"), "--lambda", "1", "--out",
                  at("cost.npz"), "--overwrite"},
                 {"that is the file of --cost"});
  EXPECT_EQ(read(at("model.npz")), model);
  EXPECT_EQ(read(at("target.npy")), target);
}

TEST_F(OutputRule, WhatIsThereIsReplacedWhenToldTo) {
  write(at("model.npz"), "mine");
  expect_refused(fit_into(at("model.npz")), {"--out", "something is there already", "--overwrite"});
  EXPECT_EQ(read(at("model.npz")), "mine");
  EXPECT_EQ(run(fit_into(at("model.npz")) + Words{"--overwrite"}).code, 0);
  EXPECT_NE(read(at("model.npz")), "mine");
}

TEST_F(OutputRule, AFolderKeepsWhatNoRunListed) {
  fs::create_directory(at("out"));
  write(at("out/metric.npy"), "mine");
  write(at("out/labels.npy"), "mine too");
  expect_refused(small_adapt(), {"--out", "labels.npy", "--overwrite"});
  EXPECT_EQ(names_in(at("out")), (Words{"labels.npy", "metric.npy"}));
  fs::remove(at("out/labels.npy"));
  ASSERT_EQ(run(small_adapt()).code, 0);
  EXPECT_EQ(read(at("out/metric.npy")), "mine");
  ASSERT_EQ(run(small_adapt()).code, 0) << "its own results are replaced";
  EXPECT_EQ(read(at("out/metric.npy")), "mine") << "it was not in report.json";
  expect_refused(small_adapt() + Words{"--save-metric"}, {"metric.npy", "--overwrite"});
  ASSERT_EQ(run(small_adapt() + Words{"--save-metric", "--overwrite"}).code, 0);
  EXPECT_EQ(json::parse(read(at("out/report.json")))["files"],
            json({"model.npz", "mapped.npy", "labels.npy", "metric.npy", "report.json"}));
  ASSERT_EQ(run(small_adapt()).code, 0);
  EXPECT_FALSE(exists(at("out/metric.npy"))) << "it was ours by then";
}

TEST_F(OutputRule, WhatComesDuringTheRunStays) {
  const auto come = [&] {
    fs::create_directories(at("out"));
    write(at("out/labels.npy"), "mine");
  };
  for (const bool there : {false, true}) {
    if (there) fs::create_directory(at("out"));
    const Finished result = finished(small_adapt(), come);
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("labels.npy: something came there"), std::string::npos) << result.err;
    const std::string kept = (there ? at("out") : folder_) + "/remblai-results-";
    EXPECT_NE(result.err.find("kept in " + kept), std::string::npos) << result.err;
    EXPECT_EQ(shell("ls " + kept + "*/model.npz").code, 0);
    EXPECT_EQ(read(at("out/labels.npy")), "mine");
    EXPECT_FALSE(exists(at("out/model.npz")));
    fs::remove_all(at("out"));
  }
  const Finished result =
      finished(fit_into(at("model.npz")), [&] { write(at("model.npz"), "mine"); });
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("kept in " + at("model-1.npz")), std::string::npos) << result.err;
  EXPECT_EQ(read(at("model.npz")), "mine");
  EXPECT_EQ(run({"info", at("model-1.npz")}).code, 0);
}

TEST_F(OutputRule, TheReportComesLast) {
  ASSERT_EQ(run(small_adapt()).code, 0);
  const std::string report = read(at("out/report.json"));
  const Finished result = finished(small_adapt(), [&] {
    fs::remove(at("out/mapped.npy"));
    fs::create_directory(at("out/mapped.npy"));
  });
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("of this run the folder has model.npz only"), std::string::npos)
      << result.err;
  EXPECT_EQ(read(at("out/report.json")), report) << "the new one would list what is not there";
}

TEST_F(OutputRule, AFolderTakesOneRunAtATime) {
  fs::create_directory(at("out"));
  const int other = open(at("out").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  expect_refused(small_adapt(), {"--out", "another run is going to write there"});
  EXPECT_EQ(names_in(at("out")), Words{});
  close(other);
  EXPECT_EQ(run(small_adapt()).code, 0);
}

TEST_F(OutputRule, ALinkThatLeadsNowhereIsNotReplaced) {
  fs::create_directory(at("out"));
  fs::create_symlink("/nonexistent/x", at("out/labels.npy"));
  expect_refused(small_adapt(), {"--out", "labels.npy", "--overwrite"});
  EXPECT_TRUE(fs::is_symlink(at("out/labels.npy")));
}

TEST_F(OutputRule, ACheckpointBehindALinkIsRemovedAndTheLinkStays) {
  fs::create_symlink("state.npz", at("link.npz"));
  EXPECT_EQ(run(fit_into(at("model.npz")) + Words{"--checkpoint", at("link.npz")}).code, 0);
  EXPECT_TRUE(fs::is_symlink(at("link.npz")));
  EXPECT_FALSE(exists(at("state.npz")));
}

TEST_F(OutputRule, AFolderOfInputsIsSafe) {
  fs::create_directory(at("out"));
  fs::rename(at("source.npy"), at("out/mapped.npy"));
  Words words = small_adapt() + Words{"--overwrite"};
  words[2] = at("out/mapped.npy");
  expect_refused(words, {"--out", "mapped.npy", "that is the file of --source"});
  EXPECT_EQ(names_in(at("out")), Words{"mapped.npy"});
}

TEST_F(OutputRule, ACheckpointIsNoneOfTheResults) {
  fs::create_directory(at("out"));
  expect_refused(small_adapt() + Words{"--checkpoint", at("out/model.npz")},
                 {"--out", "model.npz", "--checkpoint"});
  EXPECT_FALSE(exists(at("out/model.npz")));
}

TEST_F(OutputRule, DeadRunsAreSweptAndLivingOnesAreNot) {
  for (const char* name : {".remblai-results-Dead01", ".remblai-results-Live01", ".remblai-mine"}) {
    fs::create_directory(at(name));
    write(at(name) + "/model.npz", "half");
  }
  const int held = open(at(".remblai-results-Live01").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const std::string& name : {std::string("model.npz.remblai-tmp-999999999-0"),
                                  "model.npz.remblai-tmp-" + std::to_string(getpid()) + "-0",
                                  std::string("model.npz.remblai-tmp-999999999-0.alll39"),
                                  std::string("notes.tmp-2024-05")}) {
    write(at(name), "half");
    fs::last_write_time(at(name), old);
  }
  ASSERT_EQ(run(small_adapt()).code, 0);
  ASSERT_EQ(run(fit_into(at("model.npz"))).code, 0);
  close(held);
  EXPECT_FALSE(exists(at(".remblai-results-Dead01")));
  EXPECT_TRUE(exists(at(".remblai-results-Live01")));
  EXPECT_TRUE(exists(at(".remblai-mine")));
  EXPECT_FALSE(exists(at("model.npz.remblai-tmp-999999999-0")));
  EXPECT_FALSE(exists(at("model.npz.remblai-tmp-999999999-0.alll39")));
  EXPECT_TRUE(exists(at("model.npz.remblai-tmp-" + std::to_string(getpid()) + "-0")));
  EXPECT_TRUE(exists(at("notes.tmp-2024-05")));
}

// Permissions say that root may write to /proc; only an attempt shows that nobody can. The fits
// would not end.
TEST_F(OutputRule, WhatCannotBeWrittenIsRefusedBeforeTheFit) {
  ASSERT_EQ(run(fit_into(at("model.npz"))).code, 0);
  ASSERT_EQ(mkfifo(at("pipe.npz").c_str(), 0600), 0);
  fs::create_hard_link(at("model.npz"), at("twin.npz"));
  const Words there = names_in(folder_);
  for (const std::string& out : {std::string("/proc/x.npz"), at("pipe.npz"), at("twin.npz")})
    expect_refused(fit_into(out) + without_end + Words{"--overwrite"}, {out});
  const Words compare{"compare",        "--source",        at("source.npy"),        "--target",
                      at("target.npy"), "--source-labels", at("source_labels.npy"), "--out",
                      "/proc/x.json"};
  expect_refused(compare, {"/proc/x.json"});
  expect_refused({"map", "--model", at("model.npz"), "--out", "/proc/x.npy"}, {"/proc/x.npy"});
  expect_refused(
      {"predict", "--model", at("model.npz"), "--points", at("target.npy"), "--out", "/proc/x.npy"},
      {"/proc/x.npy"});
  expect_refused(small_adapt() + without_end + Words{"--report", "/proc/x.html"}, {"/proc/x.html"});
  EXPECT_EQ(names_in(folder_), there) << "the look left something";
}

TEST_F(OutputRule, ADeviceWithoutATemporaryFolderIsNamed) {
  fs::create_symlink("/dev/null", at("null.npz"));
  const Finished result = run(fit_into(at("null.npz")), {{"TMPDIR", "/nonexistent"}});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("cannot write '" + at("null.npz") + "': TMPDIR names no folder"),
            std::string::npos)
      << result.err;
}

TEST_F(OutputRule, ADeadRunOfTheSameNumberIsSwept) {
  // As in a container, where the numbers begin anew.
  std::string command =
      "touch -d '1 hour ago' " + at("model.npz.remblai-tmp-$$-0") + "; exec " + binary();
  for (const std::string& word : fit_into(at("model.npz"))) command += " " + word;
  ASSERT_EQ(shell(command).code, 0);
  EXPECT_EQ(shell("ls " + folder_ + "/*.remblai-tmp-*").out, "");
}

TEST_F(OutputRule, AFileBeyondTheLimitIsAnErrorAndLeavesNothing) {
  std::string command = "ulimit -f 2; exec " + binary();
  for (const std::string& word : fit_into(at("model.npz"))) command += " " + word;
  const Finished result = shell(command);
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  EXPECT_FALSE(exists(at("model.npz")));
  EXPECT_EQ(shell("ls " + folder_ + "/*.remblai-tmp-*").out, "");
}

}  // namespace
}  // namespace remblai::cli_test
