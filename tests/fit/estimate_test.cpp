// What a fit will take, and the refusal of one that takes more than there is. Sizes of the problems
// are such that no machine has the memory, whatever else runs on it.
#include "remblai/estimate.h"

#include <gtest/gtest.h>

#include "io/io_test_tools.h"
#include "remblai/error.h"

namespace remblai {
namespace {

using io::test::error_of;

Problem line_of(Index points) {
  Problem made;
  made.source.points = Vector::LinSpaced(points, 0, 1);
  made.target.points = Vector::LinSpaced(points, 0.2, 1.5);
  made.source.labels.resize(points);
  for (Index i = 0; i < points; ++i) made.source.labels[i] = i % 2;
  return made;
}

TEST(Estimate, MoreMemoryThanThereIsIsRefusedWithThreeThingsThatHelp) {
  const Problem large = line_of(2'000'000);
  EXPECT_NO_THROW(require_reach(large, {})) << "what does not fit is made anew in every pass";
  Options stored;
  stored.resources.memory = 1e9;  // the caller's word for what there is
  EXPECT_ERROR(require_reach(large, stored),
               "2000000 x 2000000 points of 1 coordinates need about 7.5e+04 GiB");
  EXPECT_ERROR(require_reach(large, stored),
               "give a smaller Resources::memory, Resources::precision float or fewer points");
  stored.resources.precision = Precision::float32;
  EXPECT_ERROR(require_reach(large, stored), "need about 4.5e+04 GiB");
  EXPECT_ERROR(require_reach(large, stored),
               "give a smaller Resources::memory, fewer points or fewer features");
  Options exact;
  exact.lambda = 0;
  EXPECT_ERROR(require_reach(large, exact),
               "give a positive Options::lambda, fewer points or fewer features");
  Options classes{.method = Method::class_aware};
  EXPECT_NO_THROW(require_reach(large, classes)) << "by landmarks";
  classes.classes.landmarks = 4'000'000;
  EXPECT_ERROR(require_reach(large, classes), "landmarks, fewer points or fewer features");
}

TEST(Estimate, ClassAwareFitsCountTheirDistancesAndSystems) {
  Options options{.method = Method::class_aware};
  options.classes.landmarks = 100;
  options.resources.memory = 0.001;
  const double tight = estimate(line_of(1500), options).memory;
  options.resources.memory = 1;
  const double pairs = 20.0 * 1500 * 1500;
  EXPECT_GE(estimate(line_of(1500), options).memory - tight, pairs + 16.0 * 3000 * 3000);
  options.classes.landmarks = 1000;
  options.resources.memory = 0.2;
  const double less = estimate(line_of(1500), options).memory;
  EXPECT_GE(less - tight, 60e6);
  options.classes.landmarks = 3000;  // of which so little memory has no room for more than these
  EXPECT_LT(estimate(line_of(1500), options).memory, less + 0.2 * 0x1p30);
  options.resources.memory = 0.001;
  EXPECT_EQ(estimate(line_of(1500), options).memory, tight);
}

TEST(Estimate, SizesAndOptionsShow) {
  Options options;
  options.lambda = 0.5;
  options.steps = 7;
  const Estimate small = estimate(line_of(500), options);
  EXPECT_TRUE(small.stored);
  EXPECT_EQ(small.steps, 7);
  EXPECT_GE(small.memory, 20.0 * 500 * 500);
  EXPECT_LE(small.memory, small.available);
  EXPECT_GT(small.pass_seconds, 0);
  EXPECT_EQ(small.seconds(), 7 * small.step_seconds);
  const Estimate large = estimate(line_of(200'000), options);
  EXPECT_FALSE(large.stored);
  // 160,000 times the pairs; what is made anew takes longer, and clocks are coarse.
  EXPECT_GT(large.pass_seconds, 1000 * small.pass_seconds);
  options.lambda = 0.001;
  const Estimate sharp = estimate(line_of(500), options);
  EXPECT_GT(sharp.passes, 10 * small.passes);
  options.metric = MetricChoice::identity;
  EXPECT_EQ(estimate(line_of(500), options).steps, 1);
}

TEST(Estimate, WhatHasDoneAllItCanIsNoAdvice) {
  Options options;
  options.lambda = 0.01;
  options.resources.device = Device::cpu;
  const std::string all = estimate(line_of(300), options).faster;
  EXPECT_TRUE(all.starts_with("$precision float, ")) << all;
  EXPECT_NE(all.find("a larger $lambda"), std::string::npos) << all;
  options.resources.precision = Precision::float32;
  options.lambda = 2;
  options.steps = 5;
  const std::string rest = estimate(line_of(300), options).faster;
  for (const char* gone : {"$precision", "$lambda", "$steps"})
    EXPECT_EQ(rest.find(gone), std::string::npos) << rest;
  EXPECT_NE(rest.find("fewer points"), std::string::npos) << rest;
}

}  // namespace
}  // namespace remblai
