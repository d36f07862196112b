// Calibration: the minimum of a convex loss, for scores of any size.
#include "fit/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"

namespace remblai {
namespace {

using test::plain_softmax;
using test::random_matrix;

struct Scored {
  Matrix scores;
  std::vector<Index> places;
  Vector weights;
};

// Scores that are higher by `edge` at the true place, which no threshold can separate.
Scored scored(Index m, Index classes, double edge, unsigned seed) {
  Scored out{random_matrix(m, classes, seed), {}, test::random_weights(m, seed + 1)};
  for (Index i = 0; i < m; ++i) {
    out.places.push_back((i * i + i / 3) % classes);
    out.scores(i, out.places.back()) += edge;
  }
  return out;
}

double log_loss(const Scored& data, double temperature, const Vector& biases) {
  Matrix scores = temperature * data.scores;
  scores.rowwise() += biases.transpose();
  const Matrix p = plain_softmax(scores);
  double loss = 0;
  for (Index i = 0; i < p.rows(); ++i)
    loss -= data.weights[i] * std::log(p(i, data.places[static_cast<std::size_t>(i)]));
  return loss;
}

double penalised(const Scored& data, double temperature, const Vector& biases) {
  return log_loss(data, temperature, biases) + 1e-3 * biases.squaredNorm();
}

Calibration calibrated(const Scored& data, Biases biases = Biases::free) {
  return calibrate(data.scores, data.places, data.weights, biases);
}

TEST(Calibration, TheGradientOfTheLossIsZero) {
  for (const Index classes : {2, 3, 10})
    for (const double edge : {0.3, 1.0, 2.0}) {
      const Scored data = scored(80, classes, edge, 1);
      const Calibration found = calibrated(data);
      ASSERT_EQ(found.biases.size(), classes);
      EXPECT_NEAR(found.log_loss, log_loss(data, found.temperature, found.biases), 1e-12);
      const double step = 1e-5, t = found.temperature;
      EXPECT_NEAR(t * (penalised(data, t * (1 + step), found.biases) -
                       penalised(data, t * (1 - step), found.biases)),
                  0, 2 * t * t * step * 3e-6)
          << classes << " " << edge;
      for (Index k = 0; k < classes; ++k) {
        Vector up = found.biases, down = found.biases;
        up[k] += step;
        down[k] -= step;
        EXPECT_NEAR((penalised(data, t, up) - penalised(data, t, down)) / (2 * step), 0, 3e-6)
            << classes << " " << edge << " " << k;
      }
    }
}

TEST(Calibration, NoOtherTemperatureAndBiasesAreBetter) {
  const Scored data = scored(60, 3, 1, 3);
  const Calibration found = calibrated(data);
  const double least = penalised(data, found.temperature, found.biases);
  for (double factor = 0.01; factor < 200; factor *= 1.7)
    for (const double size : {0.0, 0.01, 0.1, 1.0})
      for (unsigned seed = 0; seed < 5; ++seed) {
        const Vector biases = found.biases + size * random_matrix(3, 1, seed);
        EXPECT_LE(least, penalised(data, factor * found.temperature, biases) + 1e-10)
            << factor << " " << size;
      }
}

TEST(Calibration, BiasesThatAreHeldAtZeroLeaveTheBestTemperature) {
  const Scored data = scored(60, 4, 1.5, 5);
  const Calibration held = calibrated(data, Biases::zero), free = calibrated(data);
  EXPECT_EQ(held.biases, Vector::Zero(4));
  EXPECT_GT(held.temperature, 0);
  EXPECT_NEAR(held.log_loss, log_loss(data, held.temperature, held.biases), 1e-12);
  for (double factor = 0.01; factor < 200; factor *= 1.3)
    EXPECT_LE(held.log_loss, log_loss(data, factor * held.temperature, held.biases) + 1e-10);
  EXPECT_LT(penalised(data, free.temperature, free.biases), held.log_loss);
}

TEST(Calibration, ScoresThatSeparateTheClassesStayFinite) {
  for (const double edge : {20.0, 1e3, 1e6}) {
    const Scored data = scored(30, 3, edge, 7);
    for (const Biases biases : {Biases::free, Biases::zero}) {
      const Calibration found = calibrated(data, biases);
      EXPECT_TRUE(std::isfinite(found.temperature) && found.temperature > 0) << edge;
      EXPECT_TRUE(found.biases.allFinite()) << edge;
      EXPECT_GE(found.log_loss, 0);
      EXPECT_LT(found.log_loss, 1e-3) << edge;
    }
  }
}

// The temperature is the inverse of their unit.
TEST(Calibration, TheUnitOfTheScoresDoesNotMatter) {
  const Scored data = scored(60, 3, 1, 9);
  const Calibration found = calibrated(data);
  for (const double unit : {1e-6, 1e-3, 1e3, 1e6}) {
    Scored scaled = data;
    scaled.scores *= unit;
    const Calibration other = calibrated(scaled);
    EXPECT_NEAR(unit * other.temperature, found.temperature, 1e-3 * found.temperature) << unit;
    EXPECT_NEAR(other.log_loss, found.log_loss, 1e-6) << unit;
  }
}

// The loss then falls as the temperature does, towards that of scores that say nothing. The biases
// are still those of the shares of the classes.
TEST(Calibration, ScoresThatMisleadAreNotHeard) {
  Scored data = scored(90, 3, -3, 11);
  for (Index i = 0; i < 90; ++i)  // the first class has most of the weight
    if (data.places[static_cast<std::size_t>(i)] == 0) data.weights[i] *= 10;
  data.weights /= data.weights.sum();
  Scored silent = data;
  silent.scores.setConstant(0.7);
  const Calibration nothing = calibrated(silent);
  EXPECT_TRUE(std::isfinite(nothing.temperature) && nothing.temperature > 0);
  const Vector shares = test::one_hot(data.places, 3).transpose() * data.weights;
  EXPECT_LT(test::difference(plain_softmax(nothing.biases.transpose()), shares.transpose()), 0.01);

  const Calibration found = calibrated(data), held = calibrated(data, Biases::zero);
  for (const Calibration* calibration : {&found, &held}) {
    EXPECT_GT(calibration->temperature, 0);
    EXPECT_LT(calibration->temperature, 1e-3);
  }
  EXPECT_NEAR(held.log_loss, std::log(3.0), 1e-4);
  EXPECT_NEAR(found.log_loss, nothing.log_loss, 1e-4);
  EXPECT_LT(test::difference(found.biases, nothing.biases), 0.01);
}

TEST(Calibration, AWeightStandsForSoManyPoints) {
  const Scored data = scored(20, 3, 1, 13);
  Scored weighted = data, repeated{Matrix(0, 3), {}, {}};
  std::vector<Index> rows;
  for (Index i = 0; i < 20; ++i) {
    weighted.weights[i] = static_cast<double>(1 + i % 3);
    for (Index k = 0; k < 1 + i % 3; ++k) {
      rows.push_back(i);
      repeated.places.push_back(data.places[static_cast<std::size_t>(i)]);
    }
  }
  weighted.weights /= weighted.weights.sum();
  repeated.scores = data.scores(rows, Eigen::all);
  const auto count = static_cast<Index>(rows.size());
  repeated.weights = Vector::Constant(count, 1 / static_cast<double>(count));
  const Calibration a = calibrated(weighted), b = calibrated(repeated);
  EXPECT_NEAR(a.temperature, b.temperature, 1e-8);
  EXPECT_LT(test::difference(a.biases, b.biases), 1e-8);
}

TEST(Calibration, OneClassAndOnePoint) {
  const Calibration one =
      calibrate(random_matrix(5, 1, 1), {0, 0, 0, 0, 0}, Vector::Constant(5, 0.2));
  EXPECT_NEAR(one.log_loss, 0, 1e-15);
  EXPECT_TRUE(std::isfinite(one.temperature) && one.temperature > 0);
  const Calibration point = calibrate(random_matrix(1, 4, 2), {2}, Vector::Ones(1));
  EXPECT_TRUE(point.biases.allFinite() && std::isfinite(point.temperature));
  EXPECT_LT(point.log_loss, 0.5);
}

}  // namespace
}  // namespace remblai
