// Class shares by maximum likelihood: the equation they solve, and what priors do to them.
#include "fit/class_shares.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"

namespace remblai {
namespace {

using test::difference;
using test::random_matrix;

struct Drawn {
  Matrix posterior;  // under the shares of the source
  Vector source_shares;
};

// Points on a line from normal classes around 0, 2, 4 and so on, drawn with `shares`, and their
// exact posteriors under other shares.
Drawn drawn(Index n, const Vector& shares, const Vector& source_shares, unsigned seed) {
  const Index k = shares.size();
  std::mt19937_64 engine(seed);
  const Matrix noise = random_matrix(n, 1, seed + 1);
  Matrix log_density(n, k);
  for (Index j = 0; j < n; ++j) {
    double left = test::uniform(engine);
    Index place = 0;
    while (place + 1 < k && left > shares[place]) left -= shares[place++];
    const double x = 2 * static_cast<double>(place) + noise(j, 0);
    for (Index c = 0; c < k; ++c) {
      const double distance = x - 2 * static_cast<double>(c);
      log_density(j, c) = std::log(source_shares[c]) - distance * distance / 2;
    }
  }
  return {test::plain_softmax(log_density), source_shares};
}

Vector uniform_weights(Index n) {
  return Vector::Constant(n, 1 / static_cast<double>(n));
}

// n sum_j q_j ln sum_k P_jk h_k/h0_k + sum_k prior_k ln h_k.
double likelihood(const Drawn& data, const Vector& q, const Vector& prior, const Vector& h) {
  const auto n = static_cast<double>(q.size());
  double sum = 0;
  for (Index j = 0; j < q.size(); ++j) {
    double p = 0;
    for (Index k = 0; k < h.size(); ++k) p += data.posterior(j, k) * h[k] / data.source_shares[k];
    sum += n * q[j] * std::log(p);
  }
  for (Index k = 0; k < h.size(); ++k)
    if (prior[k] > 0) sum += prior[k] * std::log(h[k]);
  return sum;
}

TEST(ClassShares, TheySolveTheirEquation) {
  const Vector truth{{0.6, 0.3, 0.1}}, source{{0.2, 0.3, 0.5}};
  const Drawn data = drawn(300, truth, source, 1);
  const Vector q = test::random_weights(300, 2);
  for (const Vector& prior : {Vector{{0, 0, 0}}, Vector{{0.5, 0.5, 0.5}}, Vector{{3, 40, 7}}}) {
    const EstimatedShares found = estimate_shares(data.posterior, q, source, prior);
    const Vector& h = found.shares;
    EXPECT_NEAR(h.sum(), 1, 1e-12);
    Vector next = prior;
    for (Index j = 0; j < 300; ++j) {
      const Eigen::RowVectorXd unscaled =
          data.posterior.row(j).array() * h.transpose().array() / source.transpose().array();
      const Eigen::RowVectorXd r = unscaled / unscaled.sum();
      EXPECT_LT(difference(found.opinions.row(j), r), 1e-14) << j;
      next += 300 * q[j] * r.transpose();
    }
    next /= 300 + prior.sum();
    EXPECT_LT((next - h).lpNorm<1>(), 1e-7);
  }
}

// The likelihood is concave, so a maximum among neighbours is the maximum. Steps of the iteration
// that lowered it would end elsewhere.
TEST(ClassShares, NoOtherSharesAreMoreLikely) {
  const Vector truth{{0.7, 0.1, 0.2}}, source{{0.3, 0.4, 0.3}}, prior{{0.5, 2, 1}};
  const Drawn data = drawn(150, truth, source, 3);
  const Vector q = test::random_weights(150, 4);
  const Vector h = estimate_shares(data.posterior, q, source, prior).shares;
  const double most = likelihood(data, q, prior, h);
  EXPECT_GT(most, likelihood(data, q, prior, source));
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Vector other = test::random_weights(3, seed);
    for (const double way : {1.0, 0.1, 0.01})
      EXPECT_GE(most, likelihood(data, q, prior, (1 - way) * h + way * other) - 1e-8);
  }
}

// The iteration written out step by step; it ends where the library does.
TEST(ClassShares, TheLikelihoodNeverFalls) {
  const Vector truth{{0.1, 0.1, 0.8}}, source{{0.5, 0.3, 0.2}}, prior{{0.5, 0.5, 0.5}};
  const Drawn data = drawn(80, truth, source, 5);
  const Vector q = uniform_weights(80);
  const Vector end = estimate_shares(data.posterior, q, source, prior).shares;
  Vector h = source;
  double before = likelihood(data, q, prior, h);
  for (int step = 0; step < 300; ++step) {
    Vector next = prior;
    for (Index j = 0; j < 80; ++j) {
      const Vector r = data.posterior.row(j).transpose().cwiseProduct(h).cwiseQuotient(source);
      next += r / r.sum();
    }
    h = next / next.sum();
    const double now = likelihood(data, q, prior, h);
    EXPECT_GE(now, before - 1e-9) << step;
    before = now;
  }
  EXPECT_LT((h - end).lpNorm<1>(), 1e-5);
  EXPECT_GE(likelihood(data, q, prior, end), before - 1e-6);
}

TEST(ClassShares, TheSharesOfTheTargetAreRecovered) {
  const Vector source{{0.25, 0.25, 0.25, 0.25}};
  for (const Vector& truth : {Vector{{0.25, 0.25, 0.25, 0.25}}, Vector{{0.7, 0.1, 0.1, 0.1}},
                              Vector{{0.5, 0.5, 0, 0}}, Vector{{0.02, 0.08, 0.3, 0.6}}}) {
    const Drawn data = drawn(20000, truth, source, 7);
    const Vector h =
        estimate_shares(data.posterior, uniform_weights(20000), source, Vector::Constant(4, 0.5))
            .shares;
    EXPECT_LT(difference(h, truth), 0.02) << truth.transpose() << " | " << h.transpose();
  }
}

TEST(ClassShares, AHugePriorIsTheAnswer) {
  const Vector truth{{0.9, 0.1}}, source{{0.5, 0.5}}, believed{{0.3, 0.7}};
  const Drawn data = drawn(100, truth, source, 9);
  const Vector h =
      estimate_shares(data.posterior, uniform_weights(100), source, 1e12 * believed).shares;
  EXPECT_LT(difference(h, believed), 1e-9);
}

// Without a prior a class that no point can be of gets nothing, and the opinions stay numbers.
TEST(ClassShares, AClassThatNoPointCanBeOf) {
  Matrix posterior = test::plain_softmax(random_matrix(20, 3, 11));
  posterior.col(1).setZero();
  for (Index j = 0; j < 20; ++j) posterior.row(j) /= posterior.row(j).sum();
  const Vector source{{0.3, 0.3, 0.4}};
  const EstimatedShares none =
      estimate_shares(posterior, uniform_weights(20), source, Vector::Zero(3));
  EXPECT_EQ(none.shares[1], 0);
  EXPECT_TRUE(none.opinions.allFinite());
  const EstimatedShares some =
      estimate_shares(posterior, uniform_weights(20), source, Vector::Constant(3, 0.5));
  EXPECT_NEAR(some.shares[1], 0.5 / 21.5, 1e-12);
}

TEST(ClassShares, AWeightStandsForSoManyPoints) {
  const Vector truth{{0.6, 0.4}}, source{{0.4, 0.6}};
  const Drawn data = drawn(30, truth, source, 13);
  Vector q(30);
  std::vector<Index> rows;
  for (Index j = 0; j < 30; ++j) {
    q[j] = static_cast<double>(1 + j % 4);
    for (Index k = 0; k < 1 + j % 4; ++k) rows.push_back(j);
  }
  const Vector weighted =
      estimate_shares(data.posterior, q / q.sum(), source, Vector::Zero(2)).shares;
  const Vector repeated =
      estimate_shares(data.posterior(rows, Eigen::all),
                      uniform_weights(static_cast<Index>(rows.size())), source, Vector::Zero(2))
          .shares;
  EXPECT_LT(difference(weighted, repeated), 1e-10);
}

TEST(ClassShares, OneClassHasEverything) {
  const EstimatedShares found =
      estimate_shares(Matrix::Ones(4, 1), uniform_weights(4), Vector::Ones(1), Vector::Zero(1));
  EXPECT_EQ(found.shares, Vector::Ones(1));
  EXPECT_EQ(found.opinions, Matrix::Ones(4, 1));
}

}  // namespace
}  // namespace remblai
