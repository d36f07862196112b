// The embedded sample: its shape, its label shift, and that it is what data/mnist-shift holds.
// A sample that is not what sample.h promises would make the demonstration say something untrue.
#include "remblai/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "remblai/io.h"

namespace remblai {
namespace {

std::vector<Index> counts(const Labels& labels) {
  std::vector<Index> result(10, 0);
  for (const std::int64_t label : labels) ++result.at(static_cast<std::size_t>(label));
  return result;
}

TEST(Sample, HasThreePartsThatAFitAccepts) {
  const Sample sample = mnist_sample();
  for (const Domain* part : {&sample.source, &sample.target, &sample.test}) {
    EXPECT_NO_THROW(part->validate("sample"));
    EXPECT_EQ(part->size(), 500);
    EXPECT_EQ(part->dimension(), 784);
    EXPECT_EQ(part->labels.size(), 500);
    EXPECT_EQ(part->weights.size(), 0);
    EXPECT_EQ(part->points.minCoeff(), 0.0);
    EXPECT_EQ(part->points.maxCoeff(), 1.0);
  }
}

TEST(Sample, SourceIsBalancedAndTargetIsHalfOneDigit) {
  const Sample sample = mnist_sample();
  EXPECT_EQ(counts(sample.source.labels), std::vector<Index>(10, 50));
  for (const Domain* part : {&sample.target, &sample.test}) {
    std::vector<Index> sorted = counts(part->labels);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, (std::vector<Index>{27, 27, 28, 28, 28, 28, 28, 28, 28, 250}));
    EXPECT_EQ(counts(part->labels)[8], 250);
  }
}

TEST(Sample, HeldOutPointsAreInNoOtherPart) {
  const Sample sample = mnist_sample();
  for (const Domain* other : {&sample.source, &sample.target}) {
    for (const auto& row : sample.test.points.rowwise()) {
      EXPECT_GT((other->points.rowwise() - row).rowwise().squaredNorm().minCoeff(), 0.0);
    }
  }
}

TEST(Sample, LabelsAreInNoOrder) {
  const Sample sample = mnist_sample();
  for (const Domain* part : {&sample.source, &sample.target, &sample.test}) {
    EXPECT_FALSE(std::is_sorted(part->labels.begin(), part->labels.end()));
  }
}

TEST(Sample, IsWhatTheFilesHold) {
  const Sample sample = mnist_sample();
  const std::string folder = REMBLAI_SAMPLE_DATA;
  const auto expect_same = [&](const std::string& part, const Domain& domain) {
    const Matrix pixels = io::read_points(folder + "/" + part + "-images-idx3-ubyte.gz");
    const Labels labels = io::read_labels(folder + "/" + part + "-labels-idx1-ubyte.gz");
    EXPECT_EQ(domain.points, pixels / 255.0) << part;
    EXPECT_EQ(domain.labels, labels) << part;
  };
  expect_same("source", sample.source);
  expect_same("target", sample.target);
  expect_same("test", sample.test);
}

}  // namespace
}  // namespace remblai
