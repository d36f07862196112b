// Hostile input: exit code 2, one sentence with cause and fix, and nothing left behind.
// Each kind of file and each flag that can be wrong has a case.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "harness.h"
#include "remblai/io.h"

namespace remblai::cli_test {
namespace {

class BadInput : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_small_data();
  }

  /// adapt with `flag` set to `value`, in place of what it was or in addition.
  Words adapt_with(const std::string& flag, const std::string& value) const {
    Words words = small_adapt();
    const auto found = std::find(words.begin(), words.end(), flag);
    if (found == words.end()) return words + Words{flag, value};
    *(found + 1) = value;
    return words;
  }

  /// Refused by adapt, and no folder `out` is left.
  void refuse(const std::string& flag, const std::string& value, const Words& parts) const {
    expect_refused(adapt_with(flag, value), parts);
    EXPECT_FALSE(exists(at("out")));
  }

  std::string file(const std::string& name, const std::string& text) const {
    write(at(name), text);
    return at(name);
  }
};

TEST_F(BadInput, FilesThatAreNotThereOrNotData) {
  refuse("--source", at("none.npy"), {"none.npy"});
  refuse("--source", folder_, {folder_});
  refuse("--source", file("data.xyz", "1 2 3"), {"data.xyz", ".npy", ".csv"});
  refuse("--source", file("empty.npy", ""), {"empty.npy"});
  refuse("--source", file("empty.csv", ""), {"empty.csv"});
  refuse("--target", file("noise.npz", "this is no zip file"), {"noise.npz"});
  refuse("--target", file("noise.mat", std::string(300, 'x')), {"noise.mat"});
  refuse("--target", at("target.npy:name"), {"name"});
}

TEST_F(BadInput, TruncatedFileAndHeaderThatPromisesMore) {
  const std::string whole = read(at("source.npy"));
  refuse("--source", file("cut.npy", whole.substr(0, whole.size() - 8)), {"cut.npy"});
  refuse("--source", file("long.npy", whole + "12345678"), {"long.npy"});
  std::string promise = whole;
  promise.replace(promise.find("(40, 3)"), 7, "(4000000000, 3000000000)");
  refuse("--source", file("promise.npy", promise), {"promise.npy"});
  const std::string packed = read(sample("source", "images"));
  refuse("--source", file("cut-idx3-ubyte.gz", packed.substr(0, packed.size() / 2)),
         {"cut-idx3-ubyte.gz"});
}

TEST_F(BadInput, NotANumberWithItsPlace) {
  Matrix points = io::read_points(at("source.npy"));
  points(4, 1) = NAN;
  io::write_npy(at("nan.npy"), points);
  refuse("--source", at("nan.npy"), {"nan.npy", "row 5", "column 2"});
  refuse("--source", file("nan.csv", "1,2,3\n4,nan,6\n"), {"nan.csv", "line 2", "column 2"});
  refuse("--target", file("inf.csv", "1,2,inf\n4,5,6\n"), {"inf.csv", "line 1", "column 3"});
  refuse("--target", file("text.csv", "1,2,3\n4,5,6\n7,oops,9\n"), {"text.csv", "line 3", "oops"});
  refuse("--target", file("ragged.csv", "1,2,3\n4,5\n"), {"ragged.csv", "line 2"});
}

TEST_F(BadInput, WrongShapes) {
  refuse("--target", file("wide.csv", "1,2,3,4\n5,6,7,8\n"), {"--target", "4", "--source", "3"});
  refuse("--test", file("wide.csv", "1,2,3,4\n5,6,7,8\n"), {"--test", "4", "3"});
  refuse("--prior", file("small.csv", "1,0\n0,1\n"), {"--prior", "2 x 2", "3 x 3"});
  refuse("--metric", file("small.csv", "1,0\n0,1\n"), {"--metric", "2 x 2", "3 x 3"});
}

TEST_F(BadInput, Labels) {
  refuse("--source-labels", at("target_labels.npy"), {"--source-labels", "30 labels", "40 points"});
  refuse("--target-labels", at("source_labels.npy"), {"--target-labels", "40 labels", "30 points"});
  refuse("--source-labels", at("source.npy"), {"source.npy", "labels"});
  refuse("--source-labels", file("half.csv", "0.5\n1\n"), {"half.csv", "0.5", "whole"});
  expect_refused(small_adapt() + Words{"--test-labels", at("test_labels.npy")},
                 {"--test-labels", "--test"});
  expect_refused(
      small_adapt() + Words{"--test", at("test.npy"), "--test-labels", at("target_labels.npy")},
      {"--test-labels", "30 labels", "20 points"});
  expect_refused(
      {"adapt", "--source", at("source.npy"), "--target", at("target.npy"), "--out", at("out")},
      {"--source-labels", "required"});
  EXPECT_FALSE(exists(at("out")));
}

TEST_F(BadInput, Weights) {
  std::string zeros, negative;
  for (int i = 0; i < 40; ++i) {
    zeros += "0\n";
    negative += i == 4 ? "-1\n" : "1\n";
  }
  refuse("--source-weights", file("zeros.csv", zeros), {"source", "weights"});
  refuse("--source-weights", file("negative.csv", negative), {"source", "weight", "-1"});
  refuse("--target-weights", file("many.csv", "1\n1\n"), {"target", "weights", "2", "30"});
}

TEST_F(BadInput, MatricesThatAreNotPositiveDefinite) {
  refuse("--prior", file("flat.csv", "1,0,0\n0,1,0\n0,0,-2\n"), {"prior", "eigenvalue", "-2"});
  refuse("--metric", file("skew.csv", "1,5,0\n0,1,0\n0,0,1\n"), {"metric", "symmetric"});
}

TEST_F(BadInput, OptionValues) {
  refuse("--lambda", "abc", {"--lambda", "'abc'", "number"});
  refuse("--lambda", "1e", {"--lambda", "'1e'"});
  refuse("--lambda", "nan", {"--lambda", "'nan'", "finite"});
  refuse("--lambda", "inf", {"--lambda", "finite"});
  refuse("--lambda", "1e999", {"--lambda", "1e999"});
  refuse("--lambda", "0,5", {"--lambda", "0,5"});
  refuse("--lambda", "-1", {"error: --lambda: -1 is out of range; it must be"});
  refuse("--ridge", "-1", {"error: --ridge: -1 is out of range; it must be"});
  refuse("--prior-ridge", "-1", {"error: --prior-ridge: -1 is out of range"});
  refuse("--geodesic", "1", {"--geodesic: 1 "});
  refuse("--steps", "3.5", {"--steps", "3.5", "whole"});
  refuse("--steps", "99999999999", {"--steps", "whole"});
  refuse("--steps", "0", {"--steps: 0 "});
  refuse("--neighbours", "0", {"--neighbours: 0 "});
  refuse("--threads", "-2", {"--threads: -2 "});
  refuse("--knn-metric", "euclidian", {"--knn-metric", "model, euclidean", "'euclidean'?"});
  refuse("--preprocess", "Z", {"--preprocess", "none, l2, zscore"});
  refuse("--metric", "lerned", {"--metric", "existing file", "'learned'?"});
  refuse("--prior", "w-invers", {"--prior", "'w-inverse'?"});
  refuse("--metric", "given", {"--metric", "'given'", "existing file"});
}

// What a person wrote is never taken for the name of an option.
TEST_F(BadInput, TextOfTheUserIsNotChanged) {
  refuse("--source", at("$ridge --ridge ridge.npy"), {"$ridge --ridge ridge.npy'"});
  refuse("--source", file("$ridge.csv", "$lambda,--ridge\n1,$ridge\n"),
         {"/$ridge.csv: line 2", "('--ridge')", "'$ridge' is not a number"});
  refuse("--source-labels", file("$steps.csv", "1\n2\n"), {"/$steps.csv: 2 labels"});
  refuse("--metric", "$ridge", {"--metric: '$ridge' is neither"});
  refuse("--out", at("source.npy/$ridge"), {"source.npy/$ridge"});
  expect_refused({"$ridge"}, {"unknown command '$ridge'"});
  expect_refused(small_adapt() + Words{"--$ridge", "1"}, {"unknown option '--$ridge'"});
}

TEST_F(BadInput, OutputThatCannotBeWritten) {
  refuse("--out", at("source.npy"), {"--out", "source.npy"});
  refuse("--out", at("source.npy/deep/er"), {"--out"});
  expect_refused({"fit", "--source", at("source.npy"), "--target", at("target.npy"), "--out",
                  at("no/model.npz")},
                 {"--out", "there is no folder"});
  expect_refused(
      {"fit", "--source", at("source.npy"), "--target", at("target.npy"), "--out", at("model.txt")},
      {"--out", "a .npz file"});
  std::filesystem::create_directory(at("folder.npz"));
  expect_refused({"fit", "--source", at("source.npy"), "--target", at("target.npy"), "--out",
                  at("folder.npz")},
                 {"--out", "folder"});
}

TEST_F(BadInput, ANewFolderTreeGoesAwayAgain) {
  expect_refused(adapt_with("--out", at("a/b/c/")) +
                     Words{"--prior", file("flat.csv", "1,0,0\n0,1,0\n0,0,-2\n")},
                 {"prior"});
  EXPECT_FALSE(exists(at("a")));
}

TEST_F(BadInput, AnOldFolderKeepsWhatItHeld) {
  std::filesystem::create_directory(at("out"));
  write(at("out/labels.npy"), "mine");
  std::filesystem::create_directory(at("out/report.json"));
  expect_refused(small_adapt(), {"report.json", "folder"});
  EXPECT_EQ(names_in(at("out")), (Words{"labels.npy", "report.json"}));
  EXPECT_EQ(read(at("out/labels.npy")), "mine");
}

TEST_F(BadInput, Models) {
  const Words predict{"predict", "--points", at("target.npy"), "--out", at("y.npy"), "--model"};
  expect_refused(predict + Words{at("none.npz")}, {"none.npz"});
  expect_refused(predict + Words{at("source.npy")}, {"source.npy"});
  io::write_npz(at("other.npz"), {{"a", Matrix(Matrix::Ones(2, 2))}});
  expect_refused(predict + Words{at("other.npz")}, {"other.npz"});
  ASSERT_EQ(run({"fit", "--source", at("source.npy"), "--target", at("target.npy"), "--out",
                 at("unlabelled.npz"), "--quiet"})
                .code,
            0);
  expect_refused(predict + Words{at("unlabelled.npz")}, {"fit again with --source-labels"});
  const std::string whole = read(at("unlabelled.npz"));
  expect_refused(predict + Words{file("cut.npz", whole.substr(0, whole.size() / 2))}, {"cut.npz"});
  expect_refused({"map", "--model", at("unlabelled.npz"), "--points", file("wide.csv", "1,2,3,4\n"),
                  "--out", at("y.npy")},
                 {"--points", "4", "3"});
  expect_refused({"map", "--model", at("unlabelled.npz"), "--out", at("y.csv")}, {"--out", ".npy"});
  EXPECT_FALSE(exists(at("y.npy")));
}

TEST_F(BadInput, Evaluate) {
  expect_refused(
      {"evaluate", "--predicted", at("target_labels.npy"), "--labels", at("source_labels.npy")},
      {"--predicted", "30", "40"});
  expect_refused({"evaluate", "--predicted", at("source.npy"), "--labels", at("source_labels.npy")},
                 {"source.npy"});
}

}  // namespace
}  // namespace remblai::cli_test
