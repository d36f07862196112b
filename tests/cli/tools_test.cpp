// map, predict, evaluate, info and demo on their own.
// Results are compared with what the library gives for the same model.
#include <sys/resource.h>

#include <cmath>

#include "harness.h"
#include "remblai/io.h"
#include "remblai/map.h"
#include "remblai/model_io.h"
#include "remblai/predict.h"

namespace remblai::cli_test {
namespace {

using nlohmann::json;

class Tools : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_small_data();
    const Finished result =
        run({"fit", "--source", at("source.npy"), "--source-labels", at("source_labels.npy"),
             "--target", at("target.npy"), "--out", at("model.npz")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.out.find(at("model.npz")), std::string::npos) << result.out;
  }

  Matrix mapped(const Words& more) const {
    const Finished result =
        run(Words{"map", "--model", at("model.npz"), "--overwrite", "--out", at("y.npy")} + more);
    EXPECT_EQ(result.code, 0) << result.err;
    return io::read_points(at("y.npy"));
  }
};

TEST_F(Tools, MapIsTheLibrarys) {
  const Model model = load(at("model.npz"));
  const Matrix source = io::read_points(at("source.npy")),
               target = io::read_points(at("target.npy"));
  EXPECT_EQ(mapped({}), map(model));
  EXPECT_EQ(mapped({"--points", at("test.npy")}), map(model, io::read_points(at("test.npy"))));
  EXPECT_LT((mapped({"--points", at("source.npy")}) - map(model)).cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_EQ(mapped({"--inverse", "--points", at("target.npy")}), map_back(model, target));
  EXPECT_EQ(mapped({"--inverse"}), map_back(model, target));
  io::write_npy(at("columns.npy"), Matrix(source.transpose()));
  EXPECT_EQ(mapped({"--points", at("columns.npy"), "--transpose"}), map(model, source));
}

TEST_F(Tools, PredictTakesItsOwnNeighbours) {
  const Model model = load(at("model.npz"));
  const Matrix test = io::read_points(at("test.npy"));
  const auto predicted = [&](const Words& more) {
    const Finished result = run(Words{"predict", "--model", at("model.npz"), "--points",
                                      at("test.npy"), "--overwrite", "--out", at("y.npy")} +
                                more);
    EXPECT_EQ(result.code, 0) << result.err;
    return io::read_labels(at("y.npy"));
  };
  EXPECT_EQ(predicted({}), predict(model, test));
  EXPECT_EQ(predicted({"--neighbours", "39"}), predict(model, test, {.neighbours = 39}));
  EXPECT_EQ(predicted({"--neighbours", "39", "--knn-metric", "euclidean"}),
            predict(model, test, {.neighbours = 39, .knn_metric = KnnMetric::euclidean}));
  EXPECT_EQ(predicted({"--rule", "propagate"}), most_likely(propagate(model, test)));
}

TEST_F(Tools, MoreNeighboursThanPointsAreRefused) {
  expect_refused({"predict", "--model", at("model.npz"), "--points", at("test.npy"), "--out",
                  at("y.npy"), "--neighbours", "41"},
                 {"--neighbours: 41 ", "40 labelled points", "give 40 at most"});
  EXPECT_FALSE(exists(at("y.npy")));
}

TEST_F(Tools, SkippedColumnsAreNotCoordinates) {
  write_table("test", "a,class,b,c,weight\n");
  const Matrix plain = mapped({"--points", at("test.npy")});
  EXPECT_EQ(mapped({"--points", at("test.csv"), "--skip", "class", "--skip", "-1"}), plain);
  const auto labels = [&](const Words& more) {
    const Finished result = run(Words{"predict", "--model", at("model.npz"), "--overwrite", "--out",
                                      at("y.npy"), "--points"} +
                                more);
    EXPECT_EQ(result.code, 0) << result.err;
    return read(at("y.npy"));
  };
  EXPECT_EQ(labels({at("test.csv"), "--skip=class", "--skip=weight"}), labels({at("test.npy")}));
  const Words map{"map",       "--model",  at("model.npz"), "--out",
                  at("z.npy"), "--points", at("test.csv")};
  expect_refused(map, {"--points", "5 coordinates", "have 3", "--skip"});
  expect_refused(map + Words{"--skip", "clas"}, {"no column 'clas'", "the nearest is 'class'"});
  expect_refused(map + Words{"--skip", "class", "weight"}, {"weight"});
}

TEST_F(Tools, ThreadsChangeTheTimeOnly) {
  const Words map{"map", "--model", at("model.npz"), "--overwrite", "--out", at("y.npy")};
  const Words predict{"predict",      "--model",     at("model.npz"), "--points",
                      at("test.npy"), "--overwrite", "--out",         at("y.npy")};
  for (const Words& command : {map, predict}) {
    ASSERT_EQ(run(command).code, 0);
    const std::string result = read(at("y.npy"));
    ASSERT_EQ(run(command + Words{"--threads", "1"}).code, 0);
    EXPECT_EQ(read(at("y.npy")), result);
    expect_refused(command + Words{"--threads", "-2"}, {"threads", "-2"});
  }
}

TEST_F(Tools, EvaluateCounts) {
  write(at("truth.csv"), "1\n1\n1\n2\n2\n7\n");
  write(at("predicted.csv"), "1,2,2,2,2,1\n");
  const Words words{"evaluate", "--predicted", at("predicted.csv"), "--labels", at("truth.csv")};
  const Finished text = run(words);
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("accuracy 50.00 % of 6 points"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("33.3 %   2 (2 times)"), std::string::npos) << text.out;
  const json result = json::parse(run(words + Words{"--json"}).out);
  EXPECT_EQ(result["accuracy"], 0.5);
  EXPECT_EQ(result["points"], 6);
  ASSERT_EQ(result["classes"].size(), 3u);
  EXPECT_EQ(result["classes"][0]["label"], 1);
  EXPECT_EQ(result["classes"][0]["right"], 1);
  EXPECT_EQ(result["classes"][0]["taken_for"]["2"], 2);
  EXPECT_EQ(result["classes"][1]["recall"], 1.0);
  EXPECT_EQ(result["classes"][2]["recall"], 0.0);
}

TEST_F(Tools, EvaluateLeavesOutWhatIsNotKnown) {
  write(at("predicted.csv"), "1,2,2,2\n");
  const auto evaluate = [&](const std::string& truth) {
    write(at("truth.csv"), truth);
    const Words words{"evaluate", "--predicted", at("predicted.csv"), "--labels", at("truth.csv")};
    const Finished text = run(words);
    EXPECT_EQ(text.code, 0) << text.err;
    return std::pair(text.out, json::parse(run(words + Words{"--json"}).out));
  };
  const auto [text, result] = evaluate("1\nnan\n-1\n1\n");
  EXPECT_NE(text.find("accuracy 50.00 % of 2 points, 2 more have no known label"),
            std::string::npos)
      << text;
  EXPECT_EQ(result["accuracy"], 0.5);
  EXPECT_EQ(result["points"], 2);
  EXPECT_EQ(result["unknown"], 2);
  EXPECT_EQ(result["classes"].size(), 1u);
  const auto [nothing, null] = evaluate("-1\nNaN\n-1\n-1\n");
  EXPECT_NE(nothing.find("accuracy unknown"), std::string::npos) << nothing;
  EXPECT_EQ(nothing.find('%'), std::string::npos) << nothing;
  EXPECT_TRUE(null["accuracy"].is_null());
  // An empty field is what data frames write for NaN.
  write(at("table.csv"), "x,label\n1,1\n2,\n3,2\n4,2\n");
  const Finished table =
      run({"evaluate", "--predicted", at("predicted.csv"), "--labels", at("table.csv:label")});
  EXPECT_NE(table.out.find("100.00 % of 3 points"), std::string::npos) << table.out << table.err;
  // What was predicted is known.
  expect_refused({"evaluate", "--predicted", at("truth.csv"), "--labels", at("truth.csv")},
                 {"truth.csv"});
}

TEST_F(Tools, InfoDescribesAModel) {
  const Finished result = run({"info", at("model.npz")});
  ASSERT_EQ(result.code, 0) << result.err;
  write(at("MODEL.NPZ"), read(at("model.npz")));
  const std::string shouted = run({"info", at("MODEL.NPZ")}).out;
  EXPECT_NE(shouted.find("a remblai model"), std::string::npos) << shouted;
  for (const char* part : {"a remblai model", "learned", "3 x 3", "40 points of 3 coordinates",
                           "with labels", "30 points", "relative)", "converged"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in " << result.out;
  }
  EXPECT_NE(result.out.find("\n  method    paper\n"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("reliable"), std::string::npos) << result.out;
  ASSERT_EQ(run(small_adapt() + Words{"--quiet"}).code, 0);
  const Finished aware = run({"info", at("out/model.npz")});
  EXPECT_NE(aware.out.find("\n  method    class-aware\n"), std::string::npos) << aware.out;
  EXPECT_NE(aware.out.find("\n  reliable  1.00: so many source labels"), std::string::npos)
      << aware.out;
}

TEST_F(Tools, InfoListsTheDevices) {
  const Finished result = run({"info", "--devices"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("cpu ")) << result.out;
  // Either a GPU or why there is none.
  EXPECT_NE(result.out.find("cuda ") == std::string::npos,
            result.out.find("no GPU ") == std::string::npos)
      << result.out;
}

TEST_F(Tools, InfoDescribesData) {
  const auto info = [](const std::string& file) {
    const Finished result = run({"info", file});
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  const auto expect = [](const std::string& text, const Words& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
  };
  expect(info(sample("source", "images")),
         {"500 x 28 x 28", "500 of 784 coordinates", "0 to 255", "0 NaN"});
  expect(info(sample("source", "labels")), {"500 numbers", "10 classes", "7 (50)"});
  expect(info(at("source.npy")), {"40 x 3", "float64", "40 of 3 coordinates"});
  io::write_npz(at("two.npz"),
                {{"a", Matrix(Matrix::Constant(2, 3, NAN))}, {"b", Labels(Labels::Ones(4))}});
  expect(info(at("two.npz")), {"2 arrays of numbers", "a: 2 x 3", "6 NaN", "b: 4 numbers"});
  EXPECT_EQ(info(at("two.npz:b")).find("a: 2 x 3"), std::string::npos);
  // One array of a file too, whatever its format.
  Matrix holes = Matrix::Ones(2, 2);
  holes(0, 1) = NAN;
  holes(1, 0) = INFINITY;
  io::write_npy(at("holes.npy"), holes);
  expect(info(at("holes.npy")), {"2 x 2, float64", "values 1 to 1", "1 NaN, 1 infinite: remblai"});
  write(at("holes.csv"), "x,y\n1,nan\n2,3\n");
  expect(info(at("holes.csv")), {"2 x 2, numbers", "values 1 to 3", "1 NaN, 0 infinite: remblai"});
  write(at("table.csv"), "x,label\n0.5,1\n2.5,1\n1,2\n");
  expect(info(at("table.csv")), {"2 columns: x, label", "3 of 2 coordinates", "0.5 to 2.5"});
  expect(info(at("table.csv:label")), {"1 (2), 2 (1)"});
  expect(info(at("table.csv:-1")), {"-1: 3 numbers\n", "1 (2), 2 (1)"});
  expect(info(at("table.csv")), {"3 x 2, numbers"});
  write(at("WORDS.CSV"), "x,who\n1,ann\n2,bo\n");
  expect(info(at("WORDS.CSV")), {"2 columns: x, who", "text in 1 of the columns", "'ann' is not"});
  expect(info(at("WORDS.CSV:who")), {"who: 2 fields, text", "'ann' is not"});
  expect_refused({"info", at("two.npz:c")}, {"c"});
  expect_refused({"info", at("none.npy")}, {"none.npy"});
}

// A list of the columns took 128 times the file.
TEST_F(Cli, SlowInfoOfAWideTableTakesMemoryLikeTheFile) {
  const auto peak_kibibytes = [](const std::string& file) {
    EXPECT_EQ(run({"info", file}).code, 0);
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);  // of the largest so far
    return usage.ru_maxrss;
  };
  write(at("small.csv"), "1,2\n3,4\n");
  std::string numbers, names;
  for (int i = 0; i < 1'000'000; ++i) {
    numbers += i == 0 ? "1" : ",2";
    names += i == 0 ? "a" : ",b";
  }
  const long before = peak_kibibytes(at("small.csv"));
  const auto most = static_cast<long>(64 * 1024 + 16 * 2 * numbers.size() / 1024);
  for (const std::string& first : {numbers, names}) {
    write(at("wide.csv"), first + "\n" + numbers + "\n");
    EXPECT_LT(peak_kibibytes(at("wide.csv")) - before, most);
    EXPECT_LT(peak_kibibytes(at("wide.csv:0")) - before, most);
  }
}

TEST_F(Tools, InfoSaysWhyAFileIsNotUsable) {
  const auto expect = [&](const std::string& name, const std::string& bytes,
                          const std::string& why) {
    write(at(name), bytes);
    const Finished result = run({"info", at(name)});
    EXPECT_EQ(result.code, 2) << name;
    EXPECT_NE(result.err.find(why), std::string::npos) << why << " in " << result.err;
    const Finished fit =
        run({"fit", "--source", at(name), "--target", at("target.npy"), "--out", at("fit.npz")});
    EXPECT_EQ(fit.err, result.err);
  };
  const std::string whole = read(at("source.npy"));
  expect("cut.npy", whole.substr(0, whole.size() - 8), "truncated");
  std::string complex = whole;
  complex.replace(complex.find("<f8"), 3, "<c8");
  expect("complex.npy", complex, "complex");
  complex.replace(complex.find("<c8"), 3, "<U2");
  expect("text.npy", complex, "text");
  complex.replace(complex.find("<U2"), 3, "|O8");
  expect("object.npy", complex, "Python objects");
  expect("ragged.csv", "1,2\n3\n", "line 2");
}

TEST_F(Tools, InfoEscapesNamesThatAreNoText) {
  write(at("table.csv"), "caf\xe9,\xc3\xa9t\xc3\xa9,\x1b[2J\n1,2,3\n4,5,6\n");
  const Finished result = run({"info", at("table.csv")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("caf\\xe9, \xc3\xa9t\xc3\xa9, \\x1b[2J"), std::string::npos)
      << result.out;
}

TEST_F(Cli, SlowDemoComparesFiveMethodsOnTwoJobs) {
  const Finished result = run({"demo"});
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* part : {"label shift", "domain shift", "no adaptation", "source only", "OT_I",
                           "learned", "class-aware", "No method has seen a target label", "%"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in " << result.out;
  }
  EXPECT_EQ(result.out.find('\033'), std::string::npos);
}

TEST_F(Cli, SlowDemoShowsNoNumbersOfAFitThatDiverged) {
  const Finished result = run({"demo", "--lambda", "1e-300", "--threads", "1"});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_NE(result.out.find("plain transport nothing with this lambda"), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("diverged"), std::string::npos) << result.out;
  const Finished programs = run({"demo", "--lambda", "1e-300", "--threads", "1", "--json"});
  EXPECT_TRUE(json::parse(programs.out)["results"]["label-shift"][2]["accuracy"].is_null());
}

TEST_F(Cli, SlowDemoAsJson) {
  const Finished result = run({"demo", "--json", "--threads", "1"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json results = json::parse(result.out)["results"];
  ASSERT_EQ(results.size(), 2u);
  for (const char* job : {"label-shift", "domain-shift"}) {
    const json& rows = results[job];
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_EQ(rows[4]["method"], "class-aware");
    const double ours = rows[4]["accuracy"].get<double>();
    EXPECT_LE(ours, 1.0);
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_GT(ours, rows[k]["accuracy"].get<double>()) << job << " " << rows[k];
  }
}

}  // namespace
}  // namespace remblai::cli_test
