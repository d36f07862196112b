// remblai bench: what it reports is true of the potentials it writes.
#include <cmath>

#include "harness.h"
#include "remblai/io.h"
#include "support.h"

namespace remblai::cli_test {
namespace {

using nlohmann::json;

TEST_F(Cli, BenchTimesOneTransportProblem) {
  const Matrix cost = test::random_matrix(40, 30, 1).cwiseAbs2();
  io::write_npy(at("cost.npy"), cost);
  for (const char* solver : {"auto", "sinkhorn", "anderson", "newton"}) {
    const Finished result = run({"bench", "transport", "--cost", at("cost.npy"), "--lambda", "0.05",
                                 "--tolerance", "1e-7", "--solver", solver, "--repeat", "2",
                                 "--json", "--overwrite", "--out", at("potentials.npz")});
    ASSERT_EQ(result.code, 0) << result.err;
    const json report = json::parse(result.out);
    EXPECT_EQ(report["rows"], 40);
    EXPECT_EQ(report["columns"], 30);
    EXPECT_EQ(report["solver"], solver);
    EXPECT_EQ(report["all_seconds"].size(), 2u);
    EXPECT_GT(report["seconds"], 0);
    EXPECT_TRUE(report["converged"]);
    EXPECT_GE(report["gap"], 0);
    EXPECT_EQ(report["iterations"]["newton"] > 0, solver == std::string("newton"));
    const auto potentials = io::read_npz(at("potentials.npz"));
    const Matrix& f = potentials.at("f").values;
    const Matrix& g = potentials.at("g").values;
    Matrix plan(40, 30);
    for (Index i = 0; i < 40; ++i)
      for (Index j = 0; j < 30; ++j) plan(i, j) = std::exp((f(i, 0) + g(j, 0) - cost(i, j)) / 0.05);
    EXPECT_NEAR((plan.rowwise().sum().array() - 1.0 / 40).abs().sum(), report["source_error"],
                1e-12);
    EXPECT_NEAR((plan.colwise().sum().array() - 1.0 / 30).abs().sum(), report["target_error"],
                1e-12);
    EXPECT_LE(report["target_error"], 1.1e-7);
  }
}

TEST_F(Cli, BenchSaysWhatItCannotTime) {
  io::write_npy(at("cost.npy"), Matrix(Matrix::Ones(3, 3)));
  const Words start{"bench", "transport", "--cost", at("cost.npy")};
  expect_refused(start, {"--lambda"});
  expect_refused(start + Words{"--lambda", "0"}, {"--lambda: 0 is not positive"});
  expect_refused(start + Words{"--lambda", "1", "--repeat", "0"}, {"--repeat"});
  expect_refused(start + Words{"--lambda", "1", "--solver", "newtn"}, {"did you mean 'newton'?"});
  expect_refused({"bench", "fit", "--cost", at("cost.npy"), "--lambda", "1"}, {"'fit'"});
  expect_refused({"bench", "transport", "--cost", at("none.npy"), "--lambda", "1"}, {"none.npy"});
  const Finished text = run(start + Words{"--lambda", "1"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("the best of 3"), std::string::npos) << text.out;
}

}  // namespace
}  // namespace remblai::cli_test
