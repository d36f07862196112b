// Tasks of the first experiment: how many of each digit, nothing twice, and files that are missing.
#include "mnist.h"

#include <gtest/gtest.h>

#include <set>

#include "digits.h"
#include "support.h"

namespace remblai::experiments {
namespace {

class MnistTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = test::scratch_path("mnist_test");
    test::write_digits(folder);
    data = read_mnist(folder + "/mnist");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static inline std::string folder;
  static inline Mnist data;
};

std::vector<Index> counts(const Domain& domain) {
  std::vector<Index> of_each(10, 0);
  for (const std::int64_t label : domain.labels) ++of_each[static_cast<std::size_t>(label)];
  return of_each;
}

using Rows = std::set<std::vector<double>>;
Rows rows(const Domain& domain) {
  Rows all;
  for (Index i = 0; i < domain.size(); ++i)
    all.emplace(domain.points.row(i).begin(), domain.points.row(i).end());
  return all;
}

TEST_F(MnistTest, PixelsLieBetweenZeroAndOne) {
  EXPECT_EQ(data.source.size(), 600);
  EXPECT_EQ(data.target.size(), 5100);
  EXPECT_GE(data.target.points.minCoeff(), 0);
  EXPECT_LE(data.target.points.maxCoeff(), 1);
  EXPECT_GT(data.target.points.maxCoeff(), 0.9);
}

TEST_F(MnistTest, CountsFollowTheSkew) {
  EXPECT_EQ(counts(draw_mnist(data, 10, 3, 0).train), std::vector<Index>(10, 50));
  // 400 digits for nine classes: 44 each, and four of them get one more.
  EXPECT_EQ(counts(draw_mnist(data, 20, 1, 0).test),
            (std::vector<Index>{45, 100, 45, 45, 45, 44, 44, 44, 44, 44}));
  for (const int skew : {10, 20, 30, 40, 50}) {
    const Split split = draw_mnist(data, skew, 9, 4);
    EXPECT_EQ(counts(split.source), std::vector<Index>(10, 50));
    EXPECT_EQ(counts(split.train), counts(split.test));
    EXPECT_EQ(counts(split.train)[9], 5 * skew);
    EXPECT_EQ(split.train.size(), 500);
  }
}

TEST_F(MnistTest, NoPointTwiceAndEachWithItsLabel) {
  const Split split = draw_mnist(data, 50, 2, 1);
  Rows target = rows(split.train);
  target.merge(rows(split.test));
  EXPECT_EQ(target.size(), 1000u);
  EXPECT_EQ(rows(split.source).size(), 500u);
  // On average a class is bright where it should be.
  for (const auto& [label, members] : rows_by_class(split.test)) {
    const Vector mean = split.test.points(members, Eigen::all).colwise().mean();
    Eigen::Matrix<double, 10, 1> brightness;
    for (Index k = 0; k < 5; ++k) {
      brightness[k] = mean.segment(6 * k, 6).sum();
      brightness[5 + k] = mean(Eigen::seqN(k, 6, 6)).sum();
    }
    Index brightest = 0;
    brightness.maxCoeff(&brightest);
    EXPECT_EQ(brightest, label);
  }
}

TEST_F(MnistTest, EverySeedSkewAndDigitHasADrawOfItsOwn) {
  const Matrix one = draw_mnist(data, 10, 0, 0).source.points;
  EXPECT_EQ(one, draw_mnist(data, 10, 0, 0).source.points);
  EXPECT_NE(one, draw_mnist(data, 10, 0, 1).source.points);
  EXPECT_NE(one, draw_mnist(data, 10, 1, 0).source.points);
  EXPECT_NE(one, draw_mnist(data, 20, 0, 0).source.points);
}

TEST_F(MnistTest, NamesTheFileThatIsMissing) {
  const std::string message = test::message_of([] { read_mnist(folder); });
  EXPECT_TRUE(test::contains(message, folder + "/t10k-images-idx3-ubyte.gz is missing")) << message;
}

}  // namespace
}  // namespace remblai::experiments
