// The choice of a classifier: every candidate written out, and the best of them taken.
#include "fit/classifier_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fit/calibration.h"
#include "fit/class_test_tools.h"
#include "fit/kernel_ridge.h"
#include "remblai/spd.h"

namespace remblai {
namespace {

using test::difference;
using test::one_hot;
using test::plain_kernel;
using test::random_matrix;

// Points of K normal classes, the last `labelled` of them with labels, the others with soft ones.
LabelledPoints points_of(Index classes, Index size, Index labelled, Index d, double apart,
                         unsigned seed) {
  const Matrix centres = apart * random_matrix(classes, d, seed + 100);
  LabelledPoints out{random_matrix(size, d, seed),
                     test::plain_softmax(random_matrix(size, classes, seed + 1)),
                     static_cast<double>(size) * test::random_weights(size, seed + 2),
                     {}};
  for (Index i = 0; i < size; ++i) {
    const Index place = i % classes;
    out.points.row(i) += centres.row(place);
    if (i >= size - labelled) {
      out.places.push_back(place);
      out.shares.row(i) = one_hot({place}, classes);
    }
  }
  return out;
}

struct Means {
  Matrix scores;  // of all points, each left out of its own class
  double size = 0;
};

// -|x - mean|^2, the mean being recomputed without the point. Classes whose other points weigh less
// than a thousandth of this one come behind the others.
Means plain_means(const LabelledPoints& data) {
  const Index n = data.points.rows(), k = data.shares.cols();
  Means out{Matrix(n, k)};
  for (Index i = 0; i < n; ++i) {
    std::vector<Index> alone;
    for (Index c = 0; c < k; ++c) {
      Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(data.points.cols());
      double weight = 0;
      for (Index j = 0; j < n; ++j) {
        if (j == i) continue;
        sum += data.weights[j] * data.shares(j, c) * data.points.row(j);
        weight += data.weights[j] * data.shares(j, c);
      }
      const bool others = weight > 1e-3 * data.weights[i] * data.shares(i, c);
      if (!others) alone.push_back(c);
      out.scores(i, c) = others ? -(data.points.row(i) - sum / weight).squaredNorm() : 0;
    }
    const double behind = 1.001 * out.scores.row(i).minCoeff();
    for (const Index c : alone) out.scores(i, c) = behind;
  }
  out.size = -out.scores.mean();
  return out;
}

struct Choice {
  double width = 0, loss = 0, left_out = 0;
  Calibration calibration;
};

// All candidates by themselves: class means, then the widths from large to small.
std::vector<Choice> candidates(const LabelledPoints& data, double unit,
                               const ClassOptions& options) {
  const auto judged = static_cast<Index>(data.places.size());
  const Vector weights = data.weights.tail(judged) / data.weights.tail(judged).sum();
  std::vector<Choice> all;
  const auto add = [&](double width, const Matrix& scores) {
    Choice choice{width, 0, 0, calibrate(scores, data.places, weights)};
    choice.loss = choice.calibration.log_loss;
    double counted = 0;
    for (Index i = 0; i < judged; ++i) {
      Index best = 0;
      scores.row(i).maxCoeff(&best);
      const Index place = data.places[static_cast<std::size_t>(i)];
      if (std::count(data.places.begin(), data.places.end(), place) == 1) continue;
      counted += weights[i];
      if (best == place) choice.left_out += weights[i];
    }
    choice.left_out = counted > 0 ? choice.left_out / counted : 1;
    all.push_back(choice);
  };
  const Means means = plain_means(data);
  add(0, means.scores.bottomRows(judged) / means.size);
  for (const double factor : {2.0, 1.0, 0.5}) {
    KernelRidge ridge(data.points, options.landmarks);
    ridge.set_width(factor * options.kernel_width * unit);
    const Matrix targets = data.shares.array() - 1 / static_cast<double>(data.shares.cols());
    add(factor * options.kernel_width * unit,
        ridge.fit(targets, data.weights, options.smoothing, judged).left_out);
  }
  return all;
}

void expect_the_best(const LabelledPoints& data, double unit, const ClassOptions& options) {
  const FittedClassifier found = fit_classifier(data, unit, Purpose::posteriors, options);
  const Choice* best = nullptr;
  const std::vector<Choice> all = candidates(data, unit, options);
  for (const Choice& choice : all)
    if (!best || choice.loss < best->loss) best = &choice;
  EXPECT_EQ(found.classifier.width, best->width);
  EXPECT_NEAR(found.left_out, best->left_out, 1e-12);
  EXPECT_NEAR(found.classifier.temperature, best->calibration.temperature,
              1e-6 * std::max(1.0, best->calibration.temperature));
  EXPECT_LT(difference(found.classifier.biases, best->calibration.biases), 1e-6);
}

// Nothing can be found without the only point that shows it.
TEST(ClassifierFit, ClassesOfOnePointDoNotCountAsMissed) {
  LabelledPoints data;
  data.points = test::random_matrix(12, 3, 1);
  data.weights = Vector::Ones(12);
  for (Index i = 0; i < 12; ++i) data.places.push_back(i < 10 ? i % 2 : i - 8);
  for (Index i = 0; i < 12; ++i)
    data.points.row(i).array() +=
        20 * static_cast<double>(data.places[static_cast<std::size_t>(i)]);
  data.shares = test::one_hot(data.places, 4);
  EXPECT_EQ(fit_classifier(data, 100, Purpose::posteriors, {}).left_out, 1);
  for (Index i = 0; i < 12; ++i) data.places[static_cast<std::size_t>(i)] = i;
  data.shares = test::one_hot(data.places, 12);
  EXPECT_EQ(fit_classifier(data, 100, Purpose::posteriors, {}).left_out, 1);
}

TEST(ClassifierFit, TheCandidateWithTheSmallestLossIsTaken) {
  int means = 0, kernels = 0;
  for (const Index classes : {2, 3, 6})
    for (const double apart : {0.5, 1.5, 4.0})
      for (const Index labelled : {40, 18})
        for (unsigned seed = 0; seed < 3; ++seed) {
          SCOPED_TRACE(testing::Message() << classes << " " << apart << " " << labelled);
          const LabelledPoints data = points_of(classes, 40, labelled, 3, apart, 10 * seed);
          expect_the_best(data, 2 * apart * apart + 6, {});
          const double width =
              fit_classifier(data, 2 * apart * apart + 6, Purpose::labels, {}).classifier.width;
          ++(width > 0 ? kernels : means);
        }
  EXPECT_GT(means, 0);
  EXPECT_GT(kernels, 0);
}

// A width at which kernels see nothing leaves the class means.
TEST(ClassifierFit, ClassMeansAreThoseOfAllPointsAndJudgedWithoutTheirOwn) {
  const ClassOptions options{.kernel_width = 1e-3};
  for (const Index labelled : {30, 12}) {
    const LabelledPoints data = points_of(3, 30, labelled, 2, 1.5, 7);
    const Classifier found = fit_classifier(data, 1, Purpose::posteriors, options).classifier;
    ASSERT_EQ(found.width, 0);
    EXPECT_NEAR(found.scale, plain_means(data).size, 1e-10 * found.scale);
    for (Index k = 0; k < 3; ++k) {
      const Vector w = data.weights.cwiseProduct(data.shares.col(k));
      EXPECT_LT(difference(found.points.row(k), w.transpose() * data.points / w.sum()), 1e-12);
    }
    EXPECT_EQ(found.coefficients.size(), 0);
    expect_the_best(data, 1, options);
  }
}

TEST(ClassifierFit, AClassOfOnePointIsJudgedByTheOthers) {
  LabelledPoints data = points_of(2, 20, 20, 2, 4, 3);
  for (Index i = 0; i < 20; ++i) {
    data.places[static_cast<std::size_t>(i)] = i == 13 ? 1 : 0;
    data.shares.row(i) = one_hot({i == 13 ? 1 : 0}, 2);
  }
  expect_the_best(data, 10, {});
  const ClassOptions narrow{.kernel_width = 1e-3};
  expect_the_best(data, 1, narrow);
  // Every class has one point.
  LabelledPoints single = points_of(4, 4, 4, 2, 4, 5);
  single.weights.setOnes();
  expect_the_best(single, 10, {});
  EXPECT_TRUE(fit_classifier(single, 10, Purpose::labels, {}).classifier.biases.allFinite());
}

// What is small is judged against the point itself, not by its weight: a class that hardly counts
// has a mean without any of its points, and two points of very different weight do not.
TEST(ClassifierFit, AClassThatHardlyCountsStillHasOtherPoints) {
  for (const double heavy : {1.0, 1e4}) {
    LabelledPoints data = points_of(3, 30, 30, 2, 1.5, 7);
    for (Index i = 0; i < 30; i += 3) data.weights[i] *= i == 0 ? 1e-3 * heavy : 1e-3;
    const ClassOptions narrow{.kernel_width = 1e-3};
    expect_the_best(data, 1, narrow);
    const Classifier found = fit_classifier(data, 1, Purpose::posteriors, narrow).classifier;
    ASSERT_EQ(found.width, 0);
    EXPECT_NEAR(found.scale, plain_means(data).size, 1e-10 * found.scale);
  }
}

// Which of two classes has the smaller label says nothing of them.
TEST(ClassifierFit, TheOrderOfTheClassesDoesNotMatter) {
  LabelledPoints data = points_of(2, 20, 20, 2, 4, 3);
  data.weights.setOnes();
  for (const ClassOptions& options : {ClassOptions{}, ClassOptions{.kernel_width = 1e-3}}) {
    for (const Index single : {-1, 13}) {
      LabelledPoints there = data, back = data;
      for (Index i = 0; i < 20; ++i) {
        const Index place = single < 0 ? i % 2 : i == single;
        there.places[static_cast<std::size_t>(i)] = place;
        back.places[static_cast<std::size_t>(i)] = 1 - place;
        there.shares.row(i) = one_hot({place}, 2);
        back.shares.row(i) = one_hot({1 - place}, 2);
      }
      const FittedClassifier a = fit_classifier(there, 10, Purpose::posteriors, options);
      const FittedClassifier b = fit_classifier(back, 10, Purpose::posteriors, options);
      EXPECT_EQ(a.classifier.width, b.classifier.width);
      EXPECT_NEAR(a.left_out, b.left_out, 1e-12) << single << " " << options.kernel_width;
      EXPECT_LT(difference(a.classifier.biases, b.classifier.biases.reverse()), 1e-6);
    }
  }
}

TEST(ClassifierFit, AKernelClassifierSolvesTheRidgeSystem) {
  // Rings around one mean, which class means cannot tell apart.
  LabelledPoints data = points_of(3, 60, 45, 2, 0, 11);
  for (Index i = 0; i < 60; ++i) {
    data.points.row(i) *= (1.0 + static_cast<double>(i % 3)) / data.points.row(i).norm();
    data.shares.row(i) = 0.8 * one_hot({i % 3}, 3) + 0.2 * data.shares.row(i);
  }
  for (const int landmarks : {3000, 15}) {
    const ClassOptions options{.smoothing = 0.3, .landmarks = landmarks};
    const Classifier found = fit_classifier(data, 3, Purpose::posteriors, options).classifier;
    ASSERT_GT(found.width, 0);
    EXPECT_EQ(found.points.rows(), std::min(60, landmarks));
    EXPECT_EQ(found.missed > 0, landmarks == 15);
    if (landmarks == 15) continue;
    Matrix system = plain_kernel(data.points, data.points, found.width);
    system.diagonal() += 0.3 * data.weights.cwiseInverse();
    EXPECT_LT(difference((system * found.coefficients).array() + 1.0 / 3, data.shares), 1e-10);
  }
}

TEST(ClassifierFit, TheProbabilitiesOfLabelsKeepTheOrderOfTheScores) {
  const LabelledPoints data = points_of(4, 60, 30, 3, 1, 13);
  const Classifier labels = fit_classifier(data, 9, Purpose::labels, {}).classifier;
  const Classifier posteriors = fit_classifier(data, 9, Purpose::posteriors, {}).classifier;
  EXPECT_EQ(labels.width, posteriors.width);
  EXPECT_EQ(labels.biases, Vector::Zero(4));
  EXPECT_GT(posteriors.biases.norm(), 0);
  EXPECT_GT(labels.temperature, 0);
}

TEST(ClassifierFit, TheWayBackIsTheSameRegressionWithEveryClassCountingTheSame) {
  const Index n = 40, k = 3;
  const Matrix points = random_matrix(n, 3, 15);
  Matrix p = random_matrix(n, k, 16);
  p.col(0).array() += 2;
  p = test::plain_softmax(p);
  const Vector weights = n * test::random_weights(n, 17);
  Classifier forth;
  forth.width = 4;
  const Classifier back = fit_backwards(forth, points, {}, p, weights, {.smoothing = 0.2});
  EXPECT_EQ(back.width, 4);
  Matrix system = plain_kernel(points, points, 4);
  for (Index j = 0; j < n; ++j) {
    double mean = 0;
    for (Index c = 0; c < k; ++c) mean += p(j, c) / (weights.dot(p.col(c)) / n) / k;
    system(j, j) += 0.2 / (weights[j] * mean);
  }
  EXPECT_LT(difference((system * back.coefficients).array() + 1.0 / 3, p), 1e-10);

  forth.width = 0;
  const Classifier means = fit_backwards(forth, points, {}, p, weights, {});
  for (Index c = 0; c < k; ++c) {
    const Vector w = weights.cwiseProduct(p.col(c));
    EXPECT_LT(difference(means.points.row(c), w.transpose() * points / w.sum()), 1e-12);
  }
}

}  // namespace
}  // namespace remblai
