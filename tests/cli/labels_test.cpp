// Labels that are not known, -1 and 1, and problems that are odd but can be fitted.
#include <fmt/format.h>

#include "harness.h"
#include "remblai/io.h"

namespace remblai::cli_test {
namespace {

using nlohmann::json;

class LabelFiles : public Cli {
 protected:
  /// The labels of `name`, of which 0 is called `zero` and the first `other`.
  std::string relabelled(const std::string& name, int zero, const std::string& other = "") const {
    const Labels labels = io::read_labels(at(name + "_labels.npy"));
    std::string text = "label\n";
    for (Index i = 0; i < labels.size(); ++i)
      text += i == 0 && !other.empty() ? other + "\n"
                                       : fmt::format("{}\n", labels[i] == 0 ? zero : labels[i]);
    const std::string file = at(fmt::format("{}{}{}.csv", name, zero, other.size()));
    write(file, text);
    return file;
  }

  Words fit_with(const std::string& command, const std::string& source_labels) const {
    const std::string end = command == "fit" ? ".npz" : command == "compare" ? ".json" : "";
    return {command,    "--source",       at("source.npy"), "--source-labels", source_labels,
            "--target", at("target.npy"), "--out",          at("out" + end)};
  }
};

TEST_F(LabelFiles, UnknownTargetLabelsAreNotScored) {
  write_small_data();
  const Words base{
      "adapt",    "--source",       at("source.npy"), "--source-labels", at("source_labels.npy"),
      "--target", at("target.npy"), "--out",          at("out"),         "--target-labels"};
  ASSERT_EQ(run(base + Words{at("target_labels.npy"), "--quiet"}).code, 0);
  const Labels guesses = io::read_labels(at("out/labels.npy"));
  std::string some, none;
  for (Index i = 0; i < 30; ++i) {
    some += i < 6 ? fmt::format("{}\n", guesses[i]) : i % 2 ? "nan\n" : "-1\n";
    none += "-1\n";
  }
  write(at("some.csv"), some);
  const Finished known = run(base + Words{at("some.csv"), "--report", at("page.html")});
  ASSERT_EQ(known.code, 0) << known.err;
  EXPECT_NE(known.out.find("100.00 % on the target, of which 6 of 30"), std::string::npos)
      << known.out;
  EXPECT_NE(read(at("page.html")).find("6 of 30 true labels are known"), std::string::npos);
  const json report = json::parse(read(at("out/report.json")));
  EXPECT_EQ(report["accuracy"]["target"], 1.0);
  EXPECT_EQ(report["scored"]["target"], 6);
  write(at("none.csv"), none);
  const Finished nothing = run(base + Words{at("none.csv")});
  EXPECT_NE(nothing.out.find("accuracy       unknown"), std::string::npos) << nothing.out;
  EXPECT_TRUE(json::parse(read(at("out/report.json")))["accuracy"]["target"].is_null());
}

TEST_F(LabelFiles, LabelsThatTheFitWasGivenAreNotScored) {
  write_small_data();
  const Labels truth = io::read_labels(at("target_labels.npy"));
  std::string known;
  for (Index i = 0; i < 30; ++i) known += fmt::format("{}\n", i < 6 ? truth[i] : -1);
  write(at("known.csv"), known);
  const Finished result =
      run({"adapt", "--source", at("source.npy"), "--source-labels", at("source_labels.npy"),
           "--target", at("target.npy"), "--known-labels", at("known.csv"), "--target-labels",
           at("target_labels.npy"), "--out", at("out")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("% on the target without the 6 whose label was given\n"),
            std::string::npos)
      << result.out;
  EXPECT_EQ(json::parse(read(at("out/report.json")))["scored"]["target"], 24);
}

TEST_F(LabelFiles, MinusOneBesideOneAloneIsAClass) {
  write_small_data();
  const std::string source = relabelled("source", -1), target = relabelled("target", -1);
  const Words scored = fit_with("adapt", source) + Words{"--target-labels", target};
  const Finished result = run(scored + Words{"--report", at("page.html")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("warning: labels are -1 and 1 alone, so -1 is a class"),
            std::string::npos)
      << result.err;
  const json report = json::parse(read(at("out/report.json")));
  EXPECT_EQ(report["scored"]["target"], 30) << "not the half of them that are 1";
  EXPECT_GT(report["accuracy"]["target"].get<double>(), 0.9);
  EXPECT_EQ(read(at("page.html")).find("true labels are known"), std::string::npos);
  const Finished counted =
      run({"evaluate", "--predicted", at("out/labels.npy"), "--labels", target});
  EXPECT_NE(counted.out.find(" of 30 points\n"), std::string::npos) << counted.out;
  EXPECT_NE(counted.err.find("-1 is a class"), std::string::npos) << counted.err;
  const auto compared = [&](const std::string& labels, const std::string& truth) {
    const Finished table = run({"compare", "--source", at("source.npy"), "--source-labels", labels,
                                "--target", at("target.npy"), "--target-labels", truth, "--json"});
    std::vector<double> accuracies;
    for (const json& row : json::parse(table.out).at("results"))
      accuracies.push_back(row.at("accuracy"));
    return accuracies;
  };
  EXPECT_EQ(compared(source, target), compared(relabelled("source", 0), relabelled("target", 0)));
  // None may be unknown then, for nothing is left to say so.
  const std::string holes = relabelled("target", -1, "nan");
  expect_refused(fit_with("adapt", source) + Words{"--quiet", "--target-labels", holes},
                 {"--target-labels", "-1 is a class here", "number the classes 0 and 1"});
  expect_refused(fit_with("adapt", source) + Words{"--quiet", "--known-labels", target},
                 {"--known-labels", "-1 is a class of the source", "number the classes 0 and 1"});
}

TEST_F(LabelFiles, MinusOneBesideOthersIsNoLabelOfTheSource) {
  write_small_data();
  for (const std::string command : {"adapt", "fit", "compare"})
    expect_refused(fit_with(command, relabelled("source", 0, "-1")),
                   {"--source-labels", "-1 marks a label that is not known",
                    "leave these points out, or number the classes from 0"});
}

TEST_F(LabelFiles, ABlankLineIsALabelThatIsNotKnown) {
  write_small_data();
  const std::string known = relabelled("target", 0, " ");
  const Words base = fit_with("adapt", relabelled("source", 0)) + Words{"--target-labels", known};
  const Finished result = run(base + Words{"--known-labels", known});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("without the 29 whose label was given"), std::string::npos)
      << result.out;
}

TEST_F(LabelFiles, OnePointAndOneClassAreWarnings) {
  write_small_data();
  io::write_npy(at("one.npy"), io::read_points(at("source.npy")).topRows(1).eval());
  const auto said = [&](const Words& words) {
    const Finished result = run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.err;
  };
  const Words target{"--target", at("target.npy"), "--out", at("one.npz")};
  const std::string one = said(Words{"fit", "--source", at("one.npy")} + target);
  EXPECT_NE(one.find("warning: the source has one point"), std::string::npos) << one;
  EXPECT_EQ(one.find("the target"), std::string::npos) << one;
  const std::string alone = said(Words{"fit", "--source", at("target.npy"), "--target",
                                       at("one.npy"), "--out", at("alone.npz")});
  EXPECT_NE(alone.find("warning: the target has one point"), std::string::npos) << alone;
  const std::string same = relabelled("source", 1);
  const std::string label = said(fit_with("adapt", same));
  EXPECT_NE(label.find("warning: all source points have the label 1"), std::string::npos) << label;
  EXPECT_NE(said(fit_with("adapt", same) + Words{"--quiet"}).find("have the label 1"),
            std::string::npos);
}

TEST_F(LabelFiles, BlankLinesAtTheEndAreNoLabels) {
  write_small_data();
  const std::string known = at("few.csv");
  write(known, "0\n1\n" + std::string(28, '\n'));
  const Words base = fit_with("adapt", at("source_labels.npy"));
  for (const char* flag : {"--known-labels", "--target-labels"})
    expect_refused(base + Words{flag, known},
                   {flag, "2 labels for 30 points", "-1 where it is not known",
                    "blank lines at the end of a .csv are none"});
  expect_refused(fit_with("adapt", known),
                 {"--source-labels", "2 labels for 40 points", "blank lines of a .csv are none"});
  write(known, std::string("0\n1\n") + "0\n" + std::string(27, '\n') + "1\n");
  const Finished more = run(base + Words{"--known-labels", known});
  EXPECT_EQ(more.code, 2) << "31 lines";
  EXPECT_EQ(more.err.find("blank"), std::string::npos) << more.err;
}

}  // namespace
}  // namespace remblai::cli_test
