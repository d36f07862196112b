// Classifiers of the source alone.
#include "remblai/baseline.h"

#include <gtest/gtest.h>

#include "fit/class_test_tools.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

using test::agreement;
using test::class_problem;

constexpr std::array all{Baseline::nearest, Baseline::logistic, Baseline::kernel_ridge,
                         Baseline::kernel_ridge_shares};

TEST(Baseline, NearestIsTheNearestSourcePoint) {
  const Problem problem = class_problem(3, 30, 20, 5, 1, 1);
  for (const int neighbours : {1, 5})
    EXPECT_EQ(baseline_labels(Baseline::nearest, problem, problem.target.points, {}, neighbours),
              nearest_labels(problem.source.points, problem.source.labels, problem.target.points,
                             neighbours));
}

TEST(Baseline, ClassesFarApartAreToldApart) {
  for (const Index d : {3, 80}) {
    const Problem problem = class_problem(3, 30, 24, d, 2, 10, 0);
    for (const Baseline baseline : all)
      EXPECT_EQ(baseline_labels(baseline, problem, problem.target.points), problem.target.labels)
          << name(baseline) << " in " << d << " dimensions";
  }
}

// Two classes that overlap, one of them nine tenths of the target: who knows the shares gains.
TEST(Baseline, SharesHelpUnderLabelShift) {
  double with = 0, without = 0;
  for (unsigned seed = 0; seed < 5; ++seed) {
    Problem problem = class_problem(2, 100, 200, 2, seed, 1, 0);
    without += agreement(baseline_labels(Baseline::kernel_ridge, problem, problem.target.points),
                         problem.target.labels);
    with +=
        agreement(baseline_labels(Baseline::kernel_ridge_shares, problem, problem.target.points),
                  problem.target.labels);
  }
  EXPECT_GT(with, without);
}

TEST(Baseline, PointsOfWeightZeroDoNotCount) {
  Problem problem = class_problem(2, 20, 15, 3, 1, 6, 0);
  problem.source.labels[0] = 100;
  problem.source.weights = Vector::Ones(20);
  problem.source.weights[0] = 0;
  for (const Baseline baseline : all) {
    const Labels found = baseline_labels(baseline, problem, problem.source.points);
    EXPECT_TRUE((found.array() != 100).all()) << name(baseline);
  }
}

TEST(Baseline, WithoutLabelsThereIsNone) {
  Problem problem = class_problem(2, 10, 8, 3);
  problem.source.labels.resize(0);
  for (const Baseline baseline : all)
    EXPECT_TRUE(test::contains(
        test::message_of([&] { baseline_labels(baseline, problem, problem.target.points); }),
        "label"))
        << name(baseline);
}

}  // namespace
}  // namespace remblai
