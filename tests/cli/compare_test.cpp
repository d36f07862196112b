// remblai compare: every method in one table.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "remblai/io.h"

namespace remblai::cli_test {
namespace {

using nlohmann::json;

class Compare : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_small_data();
  }
  Words base() const {
    return {"compare",
            "--source",
            at("source.npy"),
            "--source-labels",
            at("source_labels.npy"),
            "--target",
            at("target.npy"),
            "--threads",
            "1"};
  }
};

TEST_F(Compare, HasEveryMethodWithItsAccuracy) {
  const Finished result = run(base() + Words{"--target-labels", at("target_labels.npy"), "--json",
                                             "--out", at("table.json")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(at("table.json")), result.out);
  const json rows = json::parse(result.out)["results"];
  ASSERT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows[0]["method"], "none");
  EXPECT_EQ(rows[8]["method"], "class-aware");
  EXPECT_EQ(rows[8]["agreement"], 1.0);
  EXPECT_EQ(rows[8]["accuracy"], 1.0) << "the two classes are eight deviations apart";
  EXPECT_TRUE(rows[8].contains("reliability"));
  for (const json& row : rows) {
    EXPECT_TRUE(row["accuracy"].is_number() && row["seconds"].is_number()) << row;
    // With right labels of our own, agreement is accuracy.
    EXPECT_EQ(row["agreement"], row["accuracy"]) << row;
  }
}

TEST_F(Compare, WithoutTrueLabelsItShowsNoAccuracy) {
  const Finished result = run(base());
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* part : {"no adaptation", "logistic", "kernel ridge", "OT_W^-1", "class-aware",
                           "like ours", "No method has seen a target label"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in " << result.out;
  EXPECT_EQ(result.out.find("accuracy"), std::string::npos) << result.out;
}

TEST_F(Compare, AMethodThatLabelledNothingHasNoNumbers) {
  const Words sharp =
      base() + Words{"--target-labels", at("target_labels.npy"), "--lambda", "1e-300"};
  const Finished result = run(sharp);
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("warning: transport, Euclidean metric (OT_I) did not converge: "),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.out.find("(OT_I)               –             –"), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("diverged"), std::string::npos) << result.out;
  const Finished programs = run(sharp + Words{"--json"});
  EXPECT_EQ(programs.code, 3);
  const json rows = json::parse(programs.out)["results"];
  EXPECT_EQ(rows[4]["status"], "diverged");
  EXPECT_TRUE(rows[4]["accuracy"].is_null() && rows[4]["agreement"].is_null()) << rows[4];
  EXPECT_EQ(rows[8]["accuracy"], 1.0);
}

TEST_F(Compare, AMethodThatIsRefusedIsNamedBelowTheOthers) {
  const Matrix source = io::read_points(at("source.npy")),
               target = io::read_points(at("target.npy"));
  io::write_npy(at("source.npy"), Matrix(1e-100 * source));
  io::write_npy(at("target.npy"), Matrix(1e-100 * target));
  const Finished result = run(base() + Words{"--json"});
  EXPECT_EQ(result.code, 3);
  const json rows = json::parse(result.out)["results"];
  ASSERT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows[5]["status"], "refused") << rows[5];
  EXPECT_TRUE(rows[5]["agreement"].is_null()) << rows[5];
  EXPECT_EQ(rows[8]["status"], "converged");
  const std::string reason = rows[5]["refusal"];
  EXPECT_NE(result.err.find("warning: transport, metric W (OT_W) was refused: " + reason),
            std::string::npos)
      << result.err;
  const Finished table = run(base());
  EXPECT_NE(table.out.find("refused"), std::string::npos) << table.out;
}

// A machine of 4 kB, as the system calls it in a name space of its own.
TEST_F(Compare, AFitThatNeedsMoreMemoryThanThereIsIsRefused) {
  write(at("meminfo"), "MemAvailable: 4 kB\n");
  const auto there = [&](const std::string& command) {
    return shell("unshare -rm sh -c 'mount --bind " + at("meminfo") + " /proc/meminfo && " +
                 command + "'");
  };
  if (there("true").code != 0) GTEST_SKIP() << "no name spaces of users here";
  std::string command = binary();
  for (const std::string& word : base() + Words{"--json"}) command += " " + word;
  const json rows = json::parse(there(command).out)["results"];
  for (const std::size_t row : {4, 5, 6, 7, 8, 9}) {
    EXPECT_EQ(rows[row]["status"], "refused") << rows[row];
    const std::string reason = rows[row]["refusal"];
    EXPECT_NE(reason.find("GiB are free"), std::string::npos) << reason;
  }
}

TEST_F(Compare, TheMapIsTimedWithItsFit) {
  const json rows = json::parse(run(base() + Words{"--json"}).out)["results"];
  EXPECT_GT(rows[9]["seconds"], 0.2 * rows[8]["seconds"].get<double>());
}

TEST_F(Compare, KnownLabelsAndSharesGoToTheClassAwareMethodAlone) {
  std::string known = "0\n1\n", foreign = "5\n";
  for (int j = 2; j < 30; ++j) known += "-1\n";
  for (int j = 1; j < 30; ++j) foreign += "-1\n";
  write(at("known.csv"), known);
  write(at("foreign.csv"), foreign);
  write(at("shares.csv"), "0.5,0.2,0.3\n");
  const Finished result =
      run(base() + Words{"--known-labels", at("known.csv"), "--target-shares", "uniform"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("but the class-aware one"), std::string::npos) << result.out;
  for (const Words& wrong :
       {Words{"--known-labels", at("foreign.csv")}, Words{"--target-shares", at("shares.csv")}}) {
    const Finished refused = run(base() + wrong + Words{"--json"});
    EXPECT_EQ(refused.code, 3);
    const json rows = json::parse(refused.out)["results"];
    EXPECT_EQ(rows[7]["status"], "converged") << rows[7];
    EXPECT_EQ(rows[8]["status"], "refused") << rows[8];
  }
}

TEST_F(Compare, BadInputIsRefusedBeforeAnythingRuns) {
  expect_refused({"compare", "--source", at("source.npy"), "--target", at("target.npy")},
                 {"--source-labels"});
  expect_refused(base() + Words{"--out", at("table.txt")}, {"--out", ".json"});
  write(at("short.csv"), "1\n0\n");
  expect_refused(base() + Words{"--target-labels", at("short.csv")}, {"--target-labels", "30"});
  EXPECT_FALSE(exists(at("table.txt")));
}

}  // namespace
}  // namespace remblai::cli_test
