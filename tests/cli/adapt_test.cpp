// adapt and fit: what they write, what they say, how they end.
// On small clouds, on the embedded sample and, where it is there, on shared data.
#include <fmt/format.h>

#include <filesystem>

#include "harness.h"
#include "remblai/evaluate.h"
#include "remblai/io.h"
#include "remblai/model_io.h"
#include "remblai/predict.h"

namespace remblai::cli_test {
namespace {

using nlohmann::json;

TEST_F(Cli, AdaptWritesEverythingItPromises) {
  write_small_data();
  const Finished result =
      run(small_adapt() + Words{"--target-labels", at("target_labels.npy"), "--test",
                                at("test.npy"), "--test-labels", at("test_labels.npy"),
                                "--save-plan", "--save-metric"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find(at("out")), std::string::npos) << result.out;
  EXPECT_EQ(names_in(at("out")), (Words{"labels.npy", "mapped.npy", "metric.npy", "model.npz",
                                        "plan.npy", "report.json", "test_labels.npy"}));
  EXPECT_EQ(io::read_points(at("out/mapped.npy")).rows(), 40);
  EXPECT_EQ(io::read_points(at("out/mapped.npy")).cols(), 3);
  const Labels labels = io::read_labels(at("out/labels.npy"));
  EXPECT_EQ(labels.size(), 30);
  EXPECT_EQ(io::read_labels(at("out/test_labels.npy")).size(), 20);

  const Matrix plan = io::read_points(at("out/plan.npy"));
  ASSERT_EQ(plan.rows(), 40);
  ASSERT_EQ(plan.cols(), 30);
  EXPECT_LT((plan.rowwise().sum().array() - 1.0 / 40).abs().sum(), 1e-5);
  EXPECT_LT((plan.colwise().sum().array() - 1.0 / 30).abs().sum(), 1e-5);
  const Matrix metric = io::read_points(at("out/metric.npy"));
  ASSERT_EQ(metric.rows(), 3);
  EXPECT_LT((metric - metric.transpose()).cwiseAbs().maxCoeff(), 1e-12 * metric.norm());

  const json report = json::parse(read(at("out/report.json")));
  for (const char* key :
       {"status", "accuracy", "lambda", "lambda_absolute", "ridge_absolute", "objective",
        "transport_cost", "marginal_error", "duality_gap", "riccati_residual", "steps", "seconds",
        "history", "options", "version"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  const double share = evaluate(labels, io::read_labels(at("target_labels.npy"))).accuracy();
  EXPECT_GT(share, 0.9);
  EXPECT_DOUBLE_EQ(report["accuracy"]["target"].get<double>(), share);
  EXPECT_TRUE(report["accuracy"]["test"].is_number());
  EXPECT_LT(report["marginal_error"]["source"].get<double>(), 1e-6);
  EXPECT_LT(report["marginal_error"]["target"].get<double>(), 1e-6);
}

TEST_F(Cli, AdaptOnTheSampleAgreesWithItsModel) {
  const Finished result =
      run({"adapt", "--source", sample("source", "images"), "--source-labels",
           sample("source", "labels"), "--target", sample("target", "images"), "--target-labels",
           sample("target", "labels"), "--test", sample("test", "images"), "--out", at("out"),
           "--method", "paper", "--steps", "2"});
  ASSERT_EQ(result.code, 3) << result.err;
  EXPECT_NE(result.err.find("warning: not converged: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--steps"), std::string::npos) << result.err;
  for (const auto& [part, written] :
       {std::pair{"target", "labels.npy"}, {"test", "test_labels.npy"}}) {
    const Finished again = run({"predict", "--model", at("out/model.npz"), "--points",
                                sample(part, "images"), "--overwrite", "--out", at("again.npy")});
    ASSERT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(read(at("again.npy")), read(at("out/") + written)) << part;
  }
  EXPECT_GT(
      evaluate(io::read_labels(at("out/labels.npy")), io::read_labels(sample("target", "labels")))
          .accuracy(),
      0.6);
}

TEST_F(Cli, PropagatedLabelsAgreeWithTheModelToo) {
  write_small_data();
  ASSERT_EQ(run(small_adapt() + Words{"--rule", "propagate"}).code, 0);
  ASSERT_EQ(run({"predict", "--model", at("out/model.npz"), "--points", at("target.npy"), "--out",
                 at("again.npy"), "--rule", "propagate"})
                .code,
            0);
  EXPECT_EQ(read(at("again.npy")), read(at("out/labels.npy")));
}

TEST_F(Cli, JsonIsTheReportAndNothingElse) {
  write_small_data();
  const Finished adapt = run(small_adapt() + Words{"--json"});
  ASSERT_EQ(adapt.code, 0) << adapt.err;
  EXPECT_EQ(json::parse(adapt.out), json::parse(read(at("out/report.json"))));
  const Finished fit = run({"fit", "--source", at("source.npy"), "--target", at("target.npy"),
                            "--out", at("model.npz"), "--json", "--lambda", "0.1"});
  ASSERT_EQ(fit.code, 0) << fit.err;
  EXPECT_DOUBLE_EQ(json::parse(fit.out)["options"]["lambda"].get<double>(), 0.1);
}

TEST_F(Cli, QuietSaysNothing) {
  write_small_data();
  const Finished result = run(small_adapt() + Words{"--quiet"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out + result.err, "");
}

TEST_F(Cli, WarningsAreSaidWithoutASummary) {
  write_small_data();
  Matrix points = io::read_points(at("source.npy"));
  points.col(2) *= 1000;
  io::write_npy(at("source.npy"), points);
  const std::string said = "warning: Column 2, counted from 0, has 99 % of the spread";
  const Words fit{"fit",   "--source",      at("source.npy"), "--target", at("target.npy"),
                  "--out", at("model.npz"), "--overwrite"};
  const Words adapt = small_adapt() + Words{"--overwrite"};
  const Words compare{
      "compare",  "--source",      at("source.npy"), "--source-labels", at("source_labels.npy"),
      "--target", at("target.npy")};
  for (const Words& words : {fit, adapt, compare}) {
    const Finished full = run(words);
    EXPECT_NE(full.out.find(said), std::string::npos) << full.out;
    EXPECT_EQ(full.err, "");
    for (const char* flag : {"--quiet", "--json"}) {
      const Finished result = run(words + Words{flag});
      EXPECT_EQ(result.code, 0);
      EXPECT_NE(result.err.find(said), std::string::npos) << words[0] << flag << result.err;
    }
    const Finished scaled = run(words + Words{"--quiet", "--preprocess", "zscore"});
    EXPECT_EQ(scaled.err.find("Column"), std::string::npos) << words[0] << scaled.err;
  }
  const json report = json::parse(run(adapt + Words{"--json"}).out);
  EXPECT_NE(report["warnings"].dump().find(said.substr(9)), std::string::npos) << report;
}

TEST_F(Cli, EveryOptionReachesTheModel) {
  write_small_data();
  io::write_npy(at("prior.npy"), Matrix(2 * Matrix::Identity(3, 3)));
  const Finished result = run({"fit",
                               "--source",
                               at("source.npy"),
                               "--target",
                               at("target.npy"),
                               "--out",
                               at("model.npz"),
                               "--prior",
                               at("prior.npy"),
                               "--prior-ridge",
                               "0.5",
                               "--lambda",
                               "0.25",
                               "--lambda-unit",
                               "relative",
                               "--ridge=0.125",
                               "--ridge-unit",
                               "absolute",
                               "--geodesic",
                               "0.75",
                               "--steps",
                               "7",
                               "--tolerance",
                               "1e-5",
                               "--outer-tolerance",
                               "1e-2",
                               "--inner",
                               "tight",
                               "--preprocess",
                               "zscore",
                               "--acceleration",
                               "none",
                               "--solver",
                               "newton",
                               "--precision",
                               "float",
                               "--memory",
                               "0.5",
                               "--threads",
                               "1",
                               "--seed",
                               "9",
                               "--quiet"});
  ASSERT_TRUE(result.code == 0 || result.code == 3) << result.err;
  const Options options = load(at("model.npz")).options;
  EXPECT_EQ(options.metric, MetricChoice::learned);
  EXPECT_EQ(options.prior, PriorChoice::given);
  EXPECT_EQ(options.prior_ridge, 0.5);
  EXPECT_EQ(options.lambda, 0.25);
  EXPECT_EQ(options.ridge, 0.125);
  EXPECT_EQ(options.ridge_unit, Unit::absolute);
  EXPECT_EQ(options.geodesic, 0.75);
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.tolerance, 1e-5);
  EXPECT_EQ(options.outer_tolerance, 1e-2);
  EXPECT_EQ(options.inner, InnerTolerance::tight);
  EXPECT_EQ(options.acceleration, Acceleration::none);
  EXPECT_EQ(options.solver, SolverChoice::newton);
  EXPECT_EQ(options.resources.precision, Precision::float32);
  EXPECT_EQ(options.resources.memory, 0.5);
  EXPECT_EQ(options.resources.threads, 1);
  EXPECT_EQ(options.preprocess, Preprocess::zscore);
  EXPECT_EQ(options.seed, 9);
}

TEST_F(Cli, PredictionBelongsToAdaptAndNotToFit) {
  write_small_data();
  const Words nearest{"--neighbours", "5", "--knn-metric", "euclidean", "--quiet"};
  ASSERT_EQ(run(small_adapt() + nearest).code, 0);
  const Model model = load(at("out/model.npz"));
  EXPECT_EQ(io::read_labels(at("out/labels.npy")),
            predict(model, io::read_points(at("target.npy")),
                    {.rule = Rule::nearest, .neighbours = 5, .knn_metric = KnnMetric::euclidean}));
  const json report = json::parse(read(at("out/report.json")));
  EXPECT_EQ(report["prediction"],
            json({{"rule", "nearest"}, {"neighbours", 5}, {"knn-metric", "euclidean"}}));
  EXPECT_FALSE(report["options"].contains("neighbours"));
  for (const char* flag : {"--neighbours", "--knn-metric"})
    expect_refused({"fit", "--source", at("source.npy"), "--target", at("target.npy"), "--out",
                    at("model.npz"), flag, "1"},
                   {"unknown option", flag});
  std::filesystem::remove_all(at("out"));
  expect_refused(small_adapt() + Words{"--neighbours", "41"},
                 {"--neighbours: 41 ", "40 labelled points", "give 40 at most"});
  EXPECT_FALSE(exists(at("out"))) << "refused before the fit";
}

TEST_F(Cli, GivenMetricEqualToIdentityIsIdentity) {
  write_small_data();
  io::write_npy(at("eye.npy"), Matrix(Matrix::Identity(3, 3)));
  ASSERT_EQ(run(small_adapt() + Words{"--metric", "identity", "--quiet"}).code, 0);
  const Matrix first = io::read_points(at("out/mapped.npy"));
  ASSERT_EQ(run(small_adapt() + Words{"--metric", at("eye.npy"), "--quiet"}).code, 0);
  EXPECT_LT((io::read_points(at("out/mapped.npy")) - first).cwiseAbs().maxCoeff(), 1e-6);
}

TEST_F(Cli, WeightsReachTheFit) {
  write_small_data();
  std::string ones, half;
  for (int i = 0; i < 40; ++i) {
    ones += "2\n";
    half += i < 20 ? "1\n" : "0\n";
  }
  write(at("ones.csv"), ones);
  write(at("half.csv"), half);
  const Words base = small_adapt() + Words{"--metric", "identity", "--save-plan", "--quiet"};
  ASSERT_EQ(run(base).code, 0);
  const Matrix plain = io::read_points(at("out/plan.npy"));
  ASSERT_EQ(run(base + Words{"--source-weights", at("ones.csv")}).code, 0);
  EXPECT_LT((io::read_points(at("out/plan.npy")) - plain).cwiseAbs().sum(), 1e-5);
  ASSERT_EQ(run(base + Words{"--source-weights", at("half.csv")}).code, 0);
  EXPECT_EQ(io::read_points(at("out/plan.npy")).bottomRows(20).cwiseAbs().sum(), 0);
}

TEST_F(Cli, LabelColumnOfACsvIsNotACoordinate) {
  write_small_data();
  write_table("source", "a,class,b,c,weight\n");
  write_table("target", "");
  write_table("test", "0,class,1,2,weight\n");
  const Finished result = run(
      {"adapt", "--source", at("source.csv"), "--source-labels", at("./source.csv:class"),
       "--target", at("target.csv"), "--target-labels", at("target.csv:1"), "--test",
       at("test.csv"), "--test-labels", at("test.csv:class"), "--skip", "4", "--out", at("csv")});
  ASSERT_EQ(result.code, 0) << result.err;
  ASSERT_EQ(run(small_adapt() + Words{"--test", at("test.npy")}).code, 0);
  for (const char* file : {"mapped.npy", "labels.npy", "test_labels.npy"}) {
    EXPECT_EQ(read(at("csv/") + file), read(at("out/") + file)) << file;
  }
}

TEST_F(Cli, ColumnsThatOnlyOneFileHasAreLeftOut) {
  write(at("source.csv"), "height,id,weight,kind\n1,a,10,0\n2,b,20,1\n3,c,10,0\n4,d,25,1\n");
  write(at("target.csv"), "site,height,weight,known\nx,1,11,0\nx,2,19,\ny,3,12,-1\n");
  write(at("test.csv"), "height,weight\n1,11\n2,19\n");
  const auto adapt = [&](const Words& more) {
    return run(Words{"adapt", "--overwrite", "--source", at("source.csv"), "--source-labels",
                     at("source.csv:kind"), "--target", at("target.csv"), "--known-labels",
                     at("target.csv:known"), "--test", at("test.csv"), "--out", at("out")} +
               more);
  };
  const Finished result = adapt({"--skip", "id", "--skip", "site"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(io::read_points(at("out/mapped.npy")).cols(), 2);
  expect_refused(
      {"adapt", "--source", at("source.csv"), "--source-labels", at("source.csv:kind"), "--target",
       at("target.csv"), "--out", at("new"), "--skip", "id", "--skip", "sight"},
      {"no column 'sight'"});
}

TEST_F(Cli, ColumnsInAnotherOrderAreRefused) {
  write(at("source.csv"), "height,weight,kind\n1,10,0\n2,20,1\n3,10,0\n4,25,1\n");
  write(at("target.csv"), "height,weight\n1,11\n2,19\n3,12\n");
  write(at("turned.csv"), "weight,height\n11,1\n19,2\n12,3\n");
  write(at("others.csv"), "hauteur,poids\n1,11\n2,19\n3,12\n");
  const auto adapt = [&](const char* target, const Words& more = {}) {
    return run(Words{"adapt", "--source", at("source.csv"), "--source-labels",
                     at("source.csv") + ":kind", "--target", at(target), "--out", at("out")} +
               more);
  };
  EXPECT_EQ(adapt("target.csv").code, 0);
  EXPECT_EQ(adapt("others.csv").code, 0);  // columns go by place
  const auto refused = [](const Finished& result, const std::string& flag) {
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find(flag + ": its columns stand in another order"), std::string::npos)
        << result.err;
  };
  refused(adapt("turned.csv"), "--target");
  refused(adapt("target.csv", {"--test", at("turned.csv")}), "--test");
  for (const char* command : {"predict", "map"})
    refused(run({command, "--model", at("out/model.npz"), "--points", at("turned.csv"), "--out",
                 at("new.npy")}),
            "--points");
}

TEST_F(Cli, WeightColumnOfACsvIsNotACoordinate) {
  write_small_data();
  for (const std::string name : {"source", "target"}) {
    write_table(name, "a,class,b,c,weight\n");
    io::write_npy(at(name + "_weights.npy"), Matrix(io::read_vector(at(name + ".csv:weight"))));
  }
  const Words weights{"--source-weights", at("source.csv:weight"), "--target-weights",
                      at("target.csv:-1")};
  const Finished table = run(Words{"adapt", "--source", at("source.csv"), "--source-labels",
                                   at("source.csv:class"), "--target", at("target.csv"),
                                   "--target-labels", at("target.csv:class"), "--out", at("csv")} +
                             weights);
  ASSERT_EQ(table.code, 0) << table.err;
  const Finished apart = run(small_adapt() + Words{"--source-weights", at("source_weights.npy"),
                                                   "--target-weights", at("target_weights.npy")});
  ASSERT_EQ(apart.code, 0) << apart.err;
  EXPECT_EQ(read(at("csv/mapped.npy")), read(at("out/mapped.npy")));
  EXPECT_EQ(read(at("csv/labels.npy")), read(at("out/labels.npy")));
  const Finished fit = run(Words{"fit", "--source", at("source.csv"), "--target", at("target.csv"),
                                 "--skip", "class", "--out", at("model.npz")} +
                           weights);
  ASSERT_EQ(fit.code, 0) << fit.err;
  EXPECT_EQ(load(at("model.npz")).metric.dimension(), 3);
}

TEST_F(Cli, TransposeReadsPointsFromColumns) {
  write_small_data();
  for (const char* name : {"source.npy", "target.npy"}) {
    io::write_npy(at(std::string("columns_") + name),
                  Matrix(io::read_points(at(name)).transpose()));
  }
  ASSERT_EQ(run(small_adapt()).code, 0);
  ASSERT_EQ(run({"adapt", "--transpose", "--source", at("columns_source.npy"), "--source-labels",
                 at("source_labels.npy"), "--target", at("columns_target.npy"), "--out", at("two")})
                .code,
            0);
  EXPECT_EQ(read(at("two/mapped.npy")), read(at("out/mapped.npy")));
}

TEST_F(Cli, ResultsOfAnEarlierRunGoAwayButNoInput) {
  write_small_data();
  const Words test{"--test", at("test.npy")};
  ASSERT_EQ(run(small_adapt() + test + Words{"--save-plan", "--save-metric"}).code, 0);
  write(at("out/notes.txt"), "mine");
  const Finished again = run(small_adapt() + Words{"--metric", at("out/metric.npy")});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(names_in(at("out")), (Words{"labels.npy", "mapped.npy", "metric.npy", "model.npz",
                                        "notes.txt", "report.json"}));
  ASSERT_EQ(run(small_adapt()).code, 0);
  EXPECT_EQ(names_in(at("out")),
            (Words{"labels.npy", "mapped.npy", "model.npz", "notes.txt", "report.json"}));
}

TEST_F(Cli, AFolderThatHeldNoResultsLosesNothing) {
  write_small_data();
  std::filesystem::create_directory(at("out"));
  write(at("out/plan.npy"), "mine");
  ASSERT_EQ(run(small_adapt()).code, 0);
  EXPECT_EQ(read(at("out/plan.npy")), "mine");
}

TEST_F(Cli, ReportNamesItsInputs) {
  write_small_data();
  io::write_npy(at("prior.npy"), Matrix(Matrix::Identity(3, 3)));
  ASSERT_EQ(run(small_adapt() +
                Words{"--prior", at("prior.npy"), "--test", at("test.npy"), "--rule", "propagate"})
                .code,
            0);
  const json report = json::parse(read(at("out/report.json")));
  EXPECT_EQ(report["inputs"], json({{"source", at("source.npy")},
                                    {"source-labels", at("source_labels.npy")},
                                    {"target", at("target.npy")},
                                    {"prior", at("prior.npy")},
                                    {"test", at("test.npy")}}));
  EXPECT_EQ(report["prediction"]["rule"], "propagate");
}

class SlowSharedDecaf : public Cli {
 protected:
  /// Adapts between two parts of Office-Caltech on DeCAF6 features; skips where they are not.
  void expect_adapts(const std::string& from, const std::string& to) const {
    const std::string folder = REMBLAI_SHARED_DATA "/office-caltech/decaf6/";
    const std::string source = folder + from + ".mat", target = folder + to + ".mat";
    for (const std::string& file : {source, target}) {
      if (!exists(file)) GTEST_SKIP() << "needs " << file;
    }
    const Finished result = run({"adapt", "--source", source, "--source-labels", source + ":labels",
                                 "--target", target + ":feas", "--target-labels", target, "--out",
                                 at("out"), "--steps", "3", "--json"});
    ASSERT_TRUE(result.code == 0 || result.code == 3) << result.err;
    EXPECT_GT(json::parse(result.out)["accuracy"]["target"].get<double>(), 0.8);
    EXPECT_EQ(io::read_points(at("out/mapped.npy")).cols(), 4096);
  }
};

TEST_F(SlowSharedDecaf, DslrToWebcam) {
  expect_adapts("dslr", "webcam");
}

TEST_F(SlowSharedDecaf, WebcamToDslr) {
  expect_adapts("webcam", "dslr");
}

}  // namespace
}  // namespace remblai::cli_test
