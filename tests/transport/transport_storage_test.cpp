// How the transport step keeps its costs: in floats, in bounded memory, made block by block.
#include "remblai/transport.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "remblai/error.h"
#include "support.h"
#include "transport/transport_fixture.h"

namespace remblai {
namespace {

// Points in many dimensions, so that blocks are made by a product worth the name.
TEST(Transport, WhatDoesNotFitTheMemoryIsMadeBlockByBlock) {
  const Matrix x = test::random_matrix(130, 20, 1), z = test::random_matrix(90, 20, 2);
  const Vector p = test::random_weights(130, 3), q = test::random_weights(90, 4);
  for (const double lambda : {5.0, 0.5}) {
    Transport stored(p, q), streamed(p, q, {.memory = 1e-9});
    stored.set_points(x, z);
    streamed.set_points(x, z);
    const TransportResult a = stored.solve(lambda), b = streamed.solve(lambda);
    EXPECT_TRUE(b.converged);
    EXPECT_NEAR(a.cost, b.cost, 1e-6 * a.cost);
    EXPECT_NEAR(a.entropy, b.entropy, 1e-5 * std::abs(a.entropy));
    EXPECT_GE(b.gap, 0);
    EXPECT_LE((stored.plan() - streamed.plan()).lpNorm<1>(), 1e-5);
    EXPECT_LE(test::difference(stored.plan_times(z), streamed.plan_times(z)), 1e-6);
    EXPECT_LE(test::difference(streamed.plan() * z, streamed.plan_times(z)), 1e-13);
  }
}

TEST(Transport, FloatsMeetTheirMarginalsToo) {
  const Matrix x = test::random_matrix(130, 20, 1), z = test::random_matrix(90, 20, 2);
  for (const double memory : {1.0, 1e-9})
    for (const double lambda : {5.0, 0.5}) {
      Transport in_double(test::uniform_weights(130), test::uniform_weights(90));
      Transport in_float(test::uniform_weights(130), test::uniform_weights(90),
                         {.memory = memory, .precision = Precision::float32});
      in_double.set_points(x, z);
      in_float.set_points(x, z);
      const TransportResult a = in_double.solve(lambda);
      const TransportResult b = in_float.solve(lambda, {.tolerance = 1e-5, .keep_going = {}});
      EXPECT_TRUE(b.converged) << lambda;
      EXPECT_NEAR(a.cost, b.cost, 1e-4 * a.cost);
      EXPECT_LE((in_double.plan() - in_float.plan()).lpNorm<1>(), 1e-3) << lambda;
    }
}

// Costs far outside the range of floats are kept in a unit of their own.
TEST(Transport, FloatsOfEverySize) {
  const Matrix cost = test::random_cost(60, 50, 3);
  Transport in_double(test::uniform_weights(60), test::uniform_weights(50));
  in_double.set_cost(cost);
  in_double.solve(0.05);
  for (const double size : {1e-200, 1e-50, 1.0, 1e40, 1e200}) {
    Transport in_float(test::uniform_weights(60), test::uniform_weights(50),
                       {.precision = Precision::float32});
    in_float.set_cost(size * cost);
    const TransportResult result =
        in_float.solve(0.05 * size, {.tolerance = 1e-5, .keep_going = {}});
    EXPECT_TRUE(result.converged) << size;
    EXPECT_LE((in_double.plan() - in_float.plan()).lpNorm<1>(), 1e-4) << size;
  }
  EXPECT_TRUE(test::contains(test::message_of([&] {
                               Vector p = test::uniform_weights(60);
                               p[0] = 1e-25;
                               Transport(p / p.sum(), test::uniform_weights(50),
                                         {.precision = Precision::float32});
                             }),
                             "too small for float"));
  Transport far(test::uniform_weights(1), test::uniform_weights(1));
  EXPECT_TRUE(test::contains(
      test::message_of([&] { far.set_points(Matrix::Constant(1, 1, 1e200), Matrix::Zero(1, 1)); }),
      "too large"));
}

// Several blocks of rows a piece, several pieces a thread.
TEST(Transport, StreamedTheSameBitsForEveryNumberOfThreads) {
  const Matrix x = test::random_matrix(1000, 5, 1), z = test::random_matrix(400, 5, 2);
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    Vector f;
    Matrix product;
    for (const int threads : {1, 2, 7}) {
      Transport problem(test::uniform_weights(1000), test::uniform_weights(400),
                        {.threads = threads, .memory = 2e-4, .precision = precision});
      problem.set_points(x, z);
      EXPECT_TRUE(problem.solve(0.5, {.tolerance = 1e-5, .keep_going = {}}).converged);
      if (threads == 1) {
        f = problem.f();
        product = problem.plan_times(z);
      }
      EXPECT_TRUE(f == problem.f()) << name(precision) << " " << threads;
      EXPECT_TRUE(product == problem.plan_times(z)) << name(precision) << " " << threads;
    }
  }
}

// The rounding of floats is a floor: the solver sees that it gets no lower, and says so.
TEST(Transport, WhatFloatsCannotMeetEndsSoon) {
  Transport problem(test::uniform_weights(130), test::uniform_weights(90),
                    {.precision = Precision::float32});
  problem.set_points(test::random_matrix(130, 20, 1), test::random_matrix(90, 20, 2));
  const TransportResult result = problem.solve(0.5, {.tolerance = 1e-12, .keep_going = {}});
  EXPECT_FALSE(result.converged);
  EXPECT_LT(std::max(result.source_error, result.target_error), 1e-5);
  EXPECT_LT(result.passes, 5000);
}

// Memory of one size is taken once: the pages of the second cost are those of the first.
TEST(Transport, MemoryIsKeptFromOneCostToTheNext) {
  Transport problem(test::uniform_weights(1500), test::uniform_weights(1500), {.threads = 1});
  const Matrix x = test::random_matrix(1500, 3, 1), z = test::random_matrix(1500, 3, 2);
  problem.set_points(x, z);
  problem.solve(1);
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  const long before = faults();
  problem.set_points(z, x);
  problem.solve(1);
  EXPECT_LT(faults() - before, 2000);  // costs and kernel are 8800 pages
}

// The budget holds for rows that are made on the fly: blocks of all threads and partial sums.
TEST(TransportSlow, TheMemoryIsABound) {
  const Index m = 2000, n = 40000;
  const Matrix x = test::random_matrix(m, 3, 1), z = test::random_matrix(n, 3, 2);
  const pid_t child = fork();
  if (child == 0) {
    const auto peak_kibibytes = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return usage.ru_maxrss;
    };
    Transport problem(test::uniform_weights(m), test::uniform_weights(n),
                      {.threads = 2, .memory = 16.0 / 1024});
    const long before = peak_kibibytes();
    problem.set_points(x, z);
    problem.solve(2, {.tolerance = 1e-3, .keep_going = {}});
    // Beside the budget there are vectors, the coordinates, and buffers of BLAS, which it takes at
    // its first product. Without the bound it would be 140 MiB.
    _exit(peak_kibibytes() - before < (16 + 32) * 1024 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Floats would hold nothing of the costs beside the largest. Doubles are asked, whatever comes of
// it.
TEST(Transport, ALambdaThatFloatsCannotResolveIsRefused) {
  Matrix cost = test::random_matrix(20, 30, 3).cwiseAbs();
  cost(3, 4) = 1e20;
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    Transport transport(test::random_weights(20, 1), test::random_weights(30, 2),
                        {.threads = 1, .precision = precision});
    transport.set_cost(cost);
    if (precision == Precision::float64) {
      EXPECT_NO_THROW(transport.solve(1, {.max_passes = 100}));
      continue;
    }
    const std::string message = test::message_of([&] { transport.solve(1, {}); });
    EXPECT_TRUE(test::contains(message, "too small for float")) << message;
  }
}

}  // namespace
}  // namespace remblai
