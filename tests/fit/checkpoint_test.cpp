// A fit that is killed and goes on ends where one that is not does.
#include "fit/checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "io/io_test_tools.h"
#include "remblai/model_io.h"

namespace remblai {
namespace {

using io::test::error_of;

class CheckpointTest : public io::test::IoTest {
 protected:
  static Problem problem() {
    std::srand(5);
    Problem made;
    made.source.points = Matrix::Random(40, 6);
    made.target.points = Matrix::Random(30, 6).array() + 0.3;
    made.source.labels.resize(40);
    for (Index i = 0; i < 40; ++i) made.source.labels[i] = i % 2;
    made.source.points.col(0) += 2 * made.source.labels.cast<double>();
    return made;
  }

  Checkpoint at(const std::string& name, bool resume) const {
    return {.path = path(name), .resume = resume, .interval = 60, .pause = 0, .warn = {}};
  }

  /// As a kill would have it: the run ends in the middle of a step.
  void run_until(int step, const Options& options, bool inside, bool resume = false) const {
    Checkpoint checkpoint = at("state.npz", resume);
    if (inside) checkpoint.interval = 0;
    EXPECT_THROW(fit(
                     problem(), options,
                     [&](const Progress& progress) {
                       if (progress.step > step) throw std::runtime_error("killed");
                       return true;
                     },
                     nullptr, checkpoint),
                 std::runtime_error);
  }

  static void expect_same(const Model& a, const Model& b) {
    EXPECT_EQ(a.f, b.f);
    EXPECT_EQ(a.g, b.g);
    EXPECT_EQ(a.metric.factor, b.metric.factor);
    EXPECT_EQ(a.lambda, b.lambda);
    ASSERT_EQ(a.history.size(), b.history.size());
    for (std::size_t i = 0; i < a.history.size(); ++i) {
      EXPECT_EQ(a.history[i].objective, b.history[i].objective) << i;
      EXPECT_EQ(a.history[i].inner_iterations, b.history[i].inner_iterations) << i;
    }
    EXPECT_EQ(a.status.message, b.status.message);
    EXPECT_EQ(a.classes.has_value(), b.classes.has_value());
    if (!a.classes) return;
    EXPECT_EQ(a.classes->opinions, b.classes->opinions);
    EXPECT_EQ(a.classes->shares, b.classes->shares);
    EXPECT_EQ(a.classes->reliability, b.classes->reliability);
    EXPECT_EQ(a.classes->undecided, b.classes->undecided);
    EXPECT_EQ(a.classes->moves, b.classes->moves);
    EXPECT_EQ(a.classes->head.coefficients, b.classes->head.coefficients);
  }
};

TEST_F(CheckpointTest, TheSameBitsFollow) {
  Options paper;
  paper.steps = 12;
  paper.outer_tolerance = 0;
  Options accelerated = paper;
  accelerated.acceleration = Acceleration::anderson;
  accelerated.inner = InnerTolerance::tight;
  Options classes{.method = Method::class_aware};
  classes.steps = 5;
  Options fixed = classes;
  fixed.metric = MetricChoice::identity;
  Options exact = paper;
  exact.lambda = 0;
  for (const Options& options : {paper, accelerated, classes, fixed, exact}) {
    const Model whole = fit(problem(), options);
    if (whole.classes) {  // so far apart that the geodesic has half its weight
      const Vector& far = whole.classes->discrepancies;
      EXPECT_GT(far[0] - far[2], 0.25 * (1 / 40.0 + 1 / 30.0));
    }
    for (const int step : {1, 3, static_cast<int>(whole.history.size()) - 1}) {
      std::filesystem::remove(path("state.npz"));
      run_until(step, options, false);
      expect_same(fit(problem(), options, {}, nullptr, at("state.npz", true)), whole);
    }
    std::filesystem::remove(path("state.npz"));
    run_until(1, options, false);
    run_until(2, options, false, true);
    expect_same(fit(problem(), options, {}, nullptr, at("state.npz", true)), whole);
  }
}

TEST_F(CheckpointTest, InsideAPlanTheResultIsTheSameUpToTheTolerance) {
  Options options;
  options.metric = MetricChoice::identity;
  options.lambda = 0.01;
  options.tolerance = 1e-9;
  const Model whole = fit(problem(), options);
  Checkpoint checkpoint = at("state.npz", false);
  checkpoint.interval = 0;
  fit(problem(), options, {}, nullptr, checkpoint);
  const Model again = fit(problem(), options, {}, nullptr, at("state.npz", true));
  EXPECT_NEAR(again.history[0].objective, whole.history[0].objective, 1e-8);
  EXPECT_LT(again.history[0].inner_iterations, whole.history[0].inner_iterations);
}

TEST_F(CheckpointTest, OtherDataOrOptionsAreRefused) {
  Options options;
  options.steps = 5;
  run_until(2, options, false);
  Options other = options;
  other.lambda = 0.3;
  EXPECT_ERROR(fit(problem(), other, {}, nullptr, at("state.npz", true)),
               "other data or other options");
  Problem changed = problem();
  changed.target.points(3, 2) += 1e-9;
  EXPECT_ERROR(fit(changed, options, {}, nullptr, at("state.npz", true)),
               "other data or other options");
  other = options;
  other.resources.precision = Precision::float32;
  EXPECT_ERROR(fit(problem(), other, {}, nullptr, at("state.npz", true)),
               "other data or other options");
  options.resources.threads = 1;
  EXPECT_NO_THROW(fit(problem(), options, {}, nullptr, at("state.npz", true)))
      << "only where it runs";
  EXPECT_NO_THROW(fit(problem(), other, {}, nullptr, at("none.npz", true)))
      << "nothing to go on from";
  io::write_npz(path("model.npz"), {{"x", Vector(Vector::Ones(2))}});
  EXPECT_ERROR(fit(problem(), other, {}, nullptr, at("model.npz", true)), "no checkpoint");
}

TEST_F(CheckpointTest, AnotherModelToStartFromIsRefused) {
  Options options;
  options.steps = 5;
  options.outer_tolerance = 0;
  Options wide = options;
  wide.lambda = 0.5;
  const Model start = fit(problem(), wide), other = fit(problem(), options);
  const auto resume = [&](const Model* from) {
    return fit(problem(), options, {}, from, at("state.npz", true));
  };
  EXPECT_THROW(fit(
                   problem(), options,
                   [](const Progress& progress) {
                     if (progress.step > 2) throw std::runtime_error("killed");
                     return true;
                   },
                   &start, at("state.npz", false)),
               std::runtime_error);
  EXPECT_ERROR(resume(nullptr), "other data or other options");
  EXPECT_ERROR(resume(&other), "other data or other options");
  Model moved = start;
  moved.g[3] += 1e-9;
  EXPECT_ERROR(resume(&moved), "other data or other options");
  expect_same(resume(&start), fit(problem(), options, {}, &start));
  std::filesystem::remove(path("state.npz"));
  run_until(2, options, false);
  EXPECT_ERROR(resume(&start), "other data or other options");
}

TEST_F(CheckpointTest, WhatIsDamagedIsRefused) {
  Options accelerated;
  accelerated.steps = 5;
  accelerated.outer_tolerance = 0;
  accelerated.acceleration = Acceleration::anderson;
  accelerated.inner = InnerTolerance::tight;
  Options classes{.method = Method::class_aware};
  classes.steps = 5;
  const std::vector<std::pair<Options, std::vector<std::string>>> cases = {
      {accelerated, {"moment", "learner_moment", "g", "memory_value_0", "memory_residual_0"}},
      {classes, {"class_explained", "class_moved", "class_steps", "class_discrepancies"}}};
  for (const auto& [options, names] : cases) {
    std::filesystem::remove(path("state.npz"));
    run_until(3, options, false);
    const auto arrays = io::read_npz(path("state.npz"));
    std::map<std::string, io::Value> whole;
    for (const auto& [name, array] : arrays) {
      if (array.type == "uint8") {
        std::string text;
        for (const double byte : array.values.reshaped()) text += static_cast<char>(byte);
        whole[name] = text;
      } else {
        whole[name] = array.values;
      }
    }
    const auto resume = [&, &options = options] {
      return fit(problem(), options, {}, nullptr, at("state.npz", true));
    };
    io::write_npz(path("state.npz"), whole);
    ASSERT_NO_THROW(resume());
    const auto expect_refusal = [&](const std::string& name, const io::Value& value,
                                    const std::string& part) {
      ASSERT_TRUE(whole.contains(name)) << name;
      auto damaged = whole;
      damaged[name] = value;
      io::write_npz(path("state.npz"), damaged);
      EXPECT_ERROR(resume(), part) << name;
    };
    const std::string other = "not those of a run of this problem";
    for (const std::string& name : names) {
      // One row more, whose numbers are those of the last.
      const Matrix& values = arrays.at(name).values;
      Matrix longer(values.rows() + 1, values.cols());
      longer << values, values.bottomRows(1);
      expect_refusal(name, longer, other);
    }
    const auto with_number = [&](Index place, double number) {
      Vector numbers = arrays.at("numbers").values.reshaped();
      numbers[place] = number;
      return numbers;
    };
    expect_refusal("numbers", with_number(0, std::nan("")), other);  // the best objective
    if (options.method == Method::class_aware) {
      expect_refusal("numbers", with_number(5, 5), other);   // right answers of the classifier
      expect_refusal("numbers", with_number(6, -1), other);  // reliability
      expect_refusal("numbers", with_number(7, 2), other);   // undecided
    }
    for (const double count : {std::nan(""), 1e300, -1.0})  // of metrics that were taken back
      expect_refusal("numbers", with_number(2, count), "its numbers are damaged");
    expect_refusal("numbers", Vector(Vector::Zero(2)), "its numbers are damaged");
    Matrix endless = arrays.at("g").values;
    endless(0) = HUGE_VAL;
    expect_refusal("g", endless, other);
    // With the first step that is made no metric follows.
    const Index rank = arrays.at("moment").values.rows();
    expect_refusal("moment", Matrix(-1e9 * Matrix::Identity(rank, rank)),
                   "second moment of the displacements singular");
    const std::string step = R"({"step": 1, "inner_iterations": 3})";
    expect_refusal("history", fmt::format("[{0},{0},{0},{0},{0}]", step), other);
    expect_refusal("history", std::string(R"([{"step": 1e300}])"), "its history is damaged");
    expect_refusal("history", std::string("[["), "its history is damaged");
    const std::string open(100'000, '['), closed(100'000, ']');
    expect_refusal("history", R"([{"step": )" + open + closed + "}]", "its history is damaged");
    expect_refusal("fingerprint", Vector(Vector::Constant(16, 1e300)), "no checkpoint");
    // Distances of other points are no reference for the next step.
    auto damaged = whole;
    damaged["distances"] = Matrix(Matrix::Ones(1, 1));
    io::write_npz(path("state.npz"), damaged);
    EXPECT_NO_THROW(resume());
  }
}

TEST_F(CheckpointTest, AFullDiskIsAWarning) {
  int told = 0;
  Checkpoint checkpoint = at("state.npz", false);
  checkpoint.path = "/dev/full";
  checkpoint.warn = [&](const Message& message) {
    ++told;
    EXPECT_NE(message.text().find("No space left"), std::string::npos) << message.text();
  };
  Options options;
  options.steps = 4;
  options.outer_tolerance = 0;
  expect_same(fit(problem(), options, {}, nullptr, checkpoint), fit(problem(), options));
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace remblai
