// remblai reproduce as a person runs it: killed, resumed, interrupted, misused.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "experiments/digits.h"
#include "harness.h"

namespace remblai::cli_test {
namespace {

class Reproduce : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    test::write_digits(at("data"));
  }

  Words words(const std::string& out, const std::string& seeds = "3") const {
    return Words{"reproduce", "mnist", "--data", at("data"), "--out", at(out), "--quiet"} +
           Words{"--seeds", seeds, "--skew", "10,50", "--digit", "2,8", "--jobs", "2"} +
           Words{"--lambda-grid", "0.2,1,0.05", "--methods", "none,ot-identity,learned"};
  }

  long lines(const std::string& out) const {
    std::ifstream file(at(out + "/journal.jsonl"));
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  }

  /// Until the journal has more than `count` lines; false when that takes more than a minute.
  bool wait_for_lines(const std::string& out, long count) const {
    for (int tick = 0; tick < 60000; ++tick) {
      if (lines(out) > count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  void expect_same_files(const std::string& a, const std::string& b) const {
    for (const std::string name : {"/table.md", "/runs.csv", "/runs.json"})
      EXPECT_EQ(read(at(a + name)), read(at(b + name))) << name;
  }
};

TEST_F(Reproduce, SlowKilledAtRandomMomentsItEndsInTheSameBytes) {
  const Finished whole = run(words("whole"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_NE(whole.out.find("Proposed"), std::string::npos);
  // Else the same bytes would say little.
  EXPECT_EQ(whole.out.find("100.00"), std::string::npos) << whole.out;

  std::mt19937 engine(1781);
  Words resumed = words("killed");
  int killed = 0;
  // Each time at least one more task, and up to a few.
  while (lines("killed") < lines("whole") - 3) {
    const long before = lines("killed");
    Process process(Words{binary()} + resumed);
    ASSERT_TRUE(wait_for_lines("killed", std::max(before, 1L)));
    std::this_thread::sleep_for(std::chrono::microseconds(engine() % 50000));
    process.send(SIGKILL);
    killed += process.wait().code == 128 + SIGKILL;
    if (before == 0) resumed.push_back("--resume");
  }
  EXPECT_GE(killed, 2);
  const Finished last = run(words("killed") + Words{"--resume"});
  EXPECT_EQ(last.code, 0) << last.err;
  expect_same_files("whole", "killed");
  EXPECT_EQ(last.out.substr(0, last.out.find("Written")),
            whole.out.substr(0, whole.out.find("Written")));
  // Each task was finished once.
  EXPECT_EQ(lines("killed"), lines("whole"));
}

TEST_F(Reproduce, SlowCtrlCKeepsWhatIsDone) {
  Words noisy = words("out", "8");
  std::erase(noisy, "--quiet");
  Process process(Words{binary()} + noisy, {}, true);
  ASSERT_TRUE(wait_for_lines("out", 2));
  process.send(SIGINT);
  const Finished stopped = process.wait();
  EXPECT_EQ(stopped.code, 130);
  EXPECT_NE(stopped.err.find("--resume goes on"), std::string::npos) << stopped.err;
  EXPECT_FALSE(exists(at("out/table.md")));
  EXPECT_EQ(run(words("out", "8") + Words{"--resume"}).code, 0);
  ASSERT_EQ(run(words("whole", "8")).code, 0);
  expect_same_files("whole", "out");
}

TEST_F(Reproduce, MoreSeedsOnlyRunTheNewOnes) {
  ASSERT_EQ(run(words("out", "1")).code, 0);
  EXPECT_EQ(lines("out"), 5);
  const std::string before = read(at("out/journal.jsonl"));
  ASSERT_EQ(run(words("out") + Words{"--resume"}).code, 0);
  EXPECT_EQ(lines("out"), 13);
  EXPECT_EQ(read(at("out/journal.jsonl")).substr(0, before.size()), before);
}

TEST_F(Reproduce, NothingOfTheUsersIsReplaced) {
  const std::string files[] = {"journal.jsonl", "table.md", "runs.csv"};
  std::filesystem::create_directory(at("out"));
  for (const std::string& name : files) write(at("out/" + name), "my " + name + "\n");
  expect_refused(words("out"), {"table.md", "something is there already"});
  std::filesystem::remove(at("out/table.md"));
  std::filesystem::remove(at("out/runs.csv"));
  expect_refused(words("out"), {"journal.jsonl", "no journal of a run", "--overwrite"});
  EXPECT_EQ(read(at("out/journal.jsonl")), "my journal.jsonl\n");
  ASSERT_EQ(run(words("out", "1") + Words{"--overwrite"}).code, 0);
  EXPECT_EQ(lines("out"), 5);

  // Not even a link with --overwrite does harm to the data.
  const std::string data = std::filesystem::directory_iterator(at("data/mnist"))->path();
  const std::string before = read(data);
  for (const std::string& name : files) {
    std::filesystem::create_directory(at("linked"));
    std::filesystem::create_symlink(data, at("linked/" + name));
    expect_refused(words("linked") + Words{"--overwrite"}, {name, "that is the file of --data"});
    std::filesystem::remove_all(at("linked"));
  }
  EXPECT_EQ(read(data), before);
}

TEST_F(Reproduce, MistakesAreNamed) {
  const Words start{"reproduce", "mnist", "--data", at("data"), "--out", at("out")};
  expect_refused({"reproduce", "minst", "--data", at("data")},
                 {"'minst' is not an experiment (did you mean 'mnist'?)"});
  expect_refused({"reproduce", "mnist", "--data", at("nothing")},
                 {"--data", "nothing is not a folder"});
  expect_refused({"reproduce", "mnist", "--data", at("data/mnist")},
                 {"mnist/mnist/t10k-images-idx3-ubyte.gz is missing"});
  expect_refused({"reproduce", "mnist", "--data", at("data"), "--out="}, {"--out"});
  expect_refused({"reproduce", "office-caltech", "--data", at("data"), "--skew", "10"},
                 {"--skew", "office-caltech has no such choice"});
  expect_refused(start + Words{"--task", "A-C"}, {"--task", "mnist has no such choice"});
  expect_refused(start + Words{"--skew", "10,,20"}, {"--skew", "empty part"});
  expect_refused(start + Words{"--skew", "10,10"}, {"--skew: 10 comes twice"});
  expect_refused(start + Words{"--digit", "x"}, {"--digit", "'x' is not a whole number"});
  expect_refused(start + Words{"--lambda-grid", "1,0"}, {"--lambda-grid: 0 is not positive"});
  expect_refused(start + Words{"--methods", "learned,best"}, {"--methods", "no 'best'"});
  expect_refused(start + Words{"--seeds", "0"}, {"--seeds: 0 is less than 1"});
  expect_refused(start + Words{"--jobs", "-1"}, {"--jobs"});
  expect_refused(start + Words{"--device", "cuda:7"}, {"--device", "is not at hand"});
  EXPECT_FALSE(exists(at("out")));

  ASSERT_EQ(run(words("out")).code, 0);
  expect_refused(words("out"), {"a run is there already", "--resume"});
  expect_refused(words("out") + Words{"--resume", "--ridge", "1"},
                 {"it was made with ridge = 0.1, now it is 1.0"});
  expect_refused(words("out") + Words{"--resume", "--rule", "propagate"},
                 {"it was made with rule = \"auto\", now it is \"propagate\""});
}

TEST_F(Reproduce, OptionsThatNoColumnReadsAreRefused) {
  Words start{"reproduce", "mnist", "--data", at("data"), "--out", at("out"), "--methods"};
  for (const char* flag : {"--steps", "--ridge", "--prior-ridge"})
    expect_refused(start + Words{"none,class-aware", flag, "3"}, {flag, "for these --methods"});
  for (const char* flag : {"--tolerance", "--outer-tolerance", "--lambda-grid", "--ridge-grid"})
    expect_refused(start + Words{"logistic", flag, "0.5"}, {flag, "for these --methods"});
  expect_refused(start + Words{"class-aware-map", "--rule", "nearest"}, {"--rule"});
  expect_refused(start + Words{"class-aware-map", "--knn-metric", "model"}, {"--knn-metric"});
  expect_refused(start + Words{"class-aware", "--neighbours", "3"}, {"--neighbours"});
  expect_refused(start + Words{"ot-identity", "--rule", "head"}, {"--rule", "without a head"});
  EXPECT_FALSE(exists(at("out")));
}

TEST_F(Reproduce, TheSettingsOfEachKindOfMethodAreSaid) {
  const auto said = [&](const std::string& methods, const Words& more) {
    Words all{"reproduce", "mnist",  "--data", at("data"),  "--out",   at("out-" + methods),
              "--seeds",   "1",      "--skew", "10",        "--digit", "2",
              "--quiet",   "--jobs", "1",      "--methods", methods};
    const Finished result = run(all + more);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  const std::string ours = said("class-aware", {});
  EXPECT_NE(ours.find("Class-aware columns: lambda 0.1, ridge 3, prior spread with ridge 0.01, "
                      "3 steps"),
            std::string::npos)
      << ours;
  EXPECT_EQ(ours.find("outer tolerance"), std::string::npos) << ours;
  const std::string theirs =
      said("none,ot-identity", {"--rule", "propagate", "--lambda-grid", "0.2"});
  EXPECT_NE(theirs.find("tolerance 1e-06, labels through the plan"), std::string::npos) << theirs;
  EXPECT_NE(theirs.find("No adaptation: 1 neighbour nearest"), std::string::npos) << theirs;
  EXPECT_EQ(theirs.find("Class-aware columns"), std::string::npos) << theirs;
}

}  // namespace
}  // namespace remblai::cli_test
