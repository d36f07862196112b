// remblai report, and --report of adapt, demo and reproduce: files, refusals, names from a table.
#include <filesystem>

#include "experiments/digits.h"
#include "harness.h"
#include "remblai/model_io.h"

namespace remblai::cli_test {
namespace {

using nlohmann::json;

class ReportPage : public Cli {
 protected:
  static json data_of(const std::string& page) {
    const std::string open = "<script type=\"application/json\" id=\"data\">";
    const std::size_t begin = page.find(open) + open.size();
    return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  }
};

TEST_F(ReportPage, AModelBecomesAPageBesideIt) {
  write_small_data();
  ASSERT_EQ(run(small_adapt()).code, 0);
  const Finished result = run({"report", at("out/model.npz")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find(at("out/model.html")), std::string::npos) << result.out;
  const json data = data_of(read(at("out/model.html")));
  EXPECT_NE(data["verdict"].get<std::string>().find("true labels were not given"),
            std::string::npos);
  const Finished scored =
      run({"report", at("out/model.npz"), "--out", at("page.html"), "--target-labels",
           at("target_labels.npy"), "--title", "Two clouds", "--quiet", "--threads", "1"});
  EXPECT_EQ(scored.out + scored.err, "");
  const json known = data_of(read(at("page.html")));
  EXPECT_EQ(known["title"], "Two clouds");
  EXPECT_EQ(known["sections"][0]["heading"], "Accuracy");
}

TEST_F(ReportPage, RefusesWhatItCannotDo) {
  write_small_data();
  ASSERT_EQ(run(small_adapt()).code, 0);
  const std::string model = at("out/model.npz");
  expect_refused({"report"}, {"MODEL"});
  expect_refused({"report", at("source.npy")}, {"source.npy"});
  expect_refused({"report", model, "--out", at("page.pdf")}, {"--out", ".html"});
  expect_refused({"report", model, "--out", at("none/page.html")}, {"--out", "there is no folder"});
  expect_refused({"report", model, "--image-size", "28"}, {"--image-size", "28x28"});
  expect_refused({"report", model, "--image-size", "2x2"}, {"2 x 2", "3 features"});
  expect_refused({"report", model, "--image-size", "4294967296x4294967296"}, {"image size"});
  expect_refused({"report", model, "--target-labels", at("source_labels.npy")},
                 {"--target-labels", "40 labels for 30 points"});
  write(at("model.html"), read(model));
  expect_refused({"report", at("model.html")}, {"model.html", "not a model"});
  EXPECT_EQ(read(at("model.html")), read(model)) << "the model is not written over";
}

TEST_F(ReportPage, TargetLabelsNeedSourceLabels) {
  write_small_data();
  ASSERT_EQ(run({"fit", "--source", at("source.npy"), "--target", at("target.npy"), "--out",
                 at("bare.npz"), "--quiet"})
                .code,
            0);
  expect_refused({"report", at("bare.npz"), "--target-labels", at("target_labels.npy")},
                 {"--target-labels", "have no labels"});
}

TEST_F(ReportPage, AdaptKeepsItsResultsWhenThePageFails) {
  write_small_data();
  std::filesystem::create_symlink("/dev/full", at("page.html"));
  const Finished result = run(small_adapt() + Words{"--report", at("page.html")});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.out.find("written to"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("for a browser"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("--report"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("are kept"), std::string::npos) << result.err;
  EXPECT_TRUE(exists(at("out/model.npz")));
}

TEST_F(ReportPage, ReproduceLeavesNoFolderForARefusedPage) {
  test::write_digits(at("data"));
  expect_refused({"reproduce", "mnist", "--data", at("data"), "--out", at("new/out"), "--quiet",
                  "--report", at("none/page.html")},
                 {"--report"});
  EXPECT_FALSE(exists(at("new")));
}

TEST_F(ReportPage, NamesOfATableReachTheModelAndThePage) {
  write_small_data();
  write_table("source", "<b>a</b>,class,caf\xe9,c,weight\n");
  write_table("target", "x,class,y,z,weight\n");
  const Finished result =
      run({"adapt", "--source", at("source.csv"), "--source-labels", at("source.csv:class"),
           "--target", at("target.csv"), "--skip", "class", "--skip", "weight", "--out",
           at("new/results"), "--report", at("new/results/page.html"), "--quiet"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(load(at("new/results/model.npz")).features,
            (std::vector<std::string>{"<b>a</b>", "caf\xef\xbf\xbd", "c"}));
  const std::string page = read(at("new/results/page.html"));
  EXPECT_EQ(page.find("<b>a"), std::string::npos);
  EXPECT_NE(data_of(page).dump().find("<b>a</b>"), std::string::npos);
}

TEST_F(ReportPage, VeryLongNamesAreCutOnThePage) {
  write_small_data();
  write_table("source", "a,class," + std::string(5000, 'x') + ",c,weight\n");
  write_table("target", "a,class,b,c,weight\n");
  const Finished result =
      run({"adapt", "--source", at("source.csv"), "--source-labels", at("source.csv:class"),
           "--target", at("target.csv"), "--skip", "class", "--skip", "weight", "--out", at("out"),
           "--report", at("page.html"), "--quiet"});
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string page = read(at("page.html"));
  EXPECT_NE(page.find(std::string(60, 'x') + "..."), std::string::npos);
  EXPECT_EQ(page.find(std::string(61, 'x')), std::string::npos);
}

TEST_F(ReportPage, AdaptRefusesABadPlaceBeforeItFits) {
  write_small_data();
  expect_refused(small_adapt() + Words{"--report", at("none/page.html")}, {"--report"});
  expect_refused(small_adapt() + Words{"--report", at("page.txt")}, {"--report", ".html"});
  EXPECT_FALSE(exists(at("out"))) << "the folder made for the results is gone again";
}

TEST_F(ReportPage, SlowDemoFitsInTwoMegabytes) {
  const Finished result = run({"demo", "--quiet", "--report", at("demo.html")});
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string page = read(at("demo.html"));
  EXPECT_LT(page.size(), 2'000'000u);
  const json data = data_of(page);
  EXPECT_EQ(data["sections"][0]["blocks"][1]["rows"].size(), 10u);
  EXPECT_EQ(data["sections"][0]["blocks"][1]["strong"], 4);
}

TEST_F(ReportPage, ReproduceShowsItsTable) {
  test::write_digits(at("data"));
  const Finished result =
      run({"reproduce", "mnist", "--data", at("data"), "--out", at("out"), "--quiet", "--seeds",
           "1", "--skew", "10,50", "--digit", "2", "--lambda-grid", "0.2,1", "--methods",
           "none,ot-identity,learned", "--report", at("out/page.html")});
  ASSERT_EQ(result.code, 0) << result.err;
  const json data = data_of(read(at("out/page.html")));
  EXPECT_EQ(data["sections"][0]["blocks"][0]["columns"].size(), 4u);
  EXPECT_EQ(data["sections"][0]["blocks"][1]["x"], (json{"10", "50"}));
  EXPECT_EQ(data["sections"][1]["heading"], "Choice of lambda");
  int draws = 0;
  for (const json& row : data["sections"][1]["blocks"][1]["rows"])
    draws += std::stoi(row[1].get<std::string>());
  EXPECT_EQ(draws, 2);
}

}  // namespace
}  // namespace remblai::cli_test
