// remblai compare: every method in one table.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/harness.h"

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
