// What only a GPU does: rows of every width, the same bits twice, refusals. Skipped without a GPU.
#include "transport/cuda/kernel_cuda.h"

#include <gtest/gtest.h>

#include <numbers>
#include <utility>

#include "remblai/devices.h"
#include "remblai/transport.h"
#include "support.h"

namespace remblai {
namespace {

class OnGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << why_no_gpu();
  }
};

using CudaKernelTest = OnGpuTest;

std::unique_ptr<Kernel> kernel_on(Device device, Precision precision, double memory = 4) {
  return make_kernel({.threads = 1, .memory = memory, .precision = precision, .device = device}, 2,
                     2);
}

// One block, clusters of two, four and eight, and rows that are read twice.
TEST_F(CudaKernelTest, RowsOfEveryWidthGiveTheSumsOfTheProcessor) {
  for (const Index n : {1, 3, 64, 4096, 4100, 8191, 10000, 12001, 16384, 16388, 20000, 26000, 33000,
                        50001, 70000, 100000, 131072, 140003})
    for (const Precision precision : {Precision::float64, Precision::float32}) {
      // Every block has rows enough to come round, and once more than are added up in float.
      const Index m = n == 64 ? 40000 : n > 20000 ? 150 : 301;
      const GroundCost cost =
          GroundCost::between_points(test::random_matrix(m, 3, 1), test::random_matrix(n, 3, 2));
      const Vector p = Vector::Constant(m, 1 / static_cast<double>(m));
      const Marginal rows = Marginal::exact(p);
      const Vector v = Vector::Zero(n), x = test::random_weights(n, 3);
      Vector u[2], a[2], first[2], sums[2], squares[2];
      int k = 0;
      for (const Device device : {Device::cpu, Device::cuda}) {
        const auto kernel = kernel_on(device, precision);
        kernel->use(cost);
        u[k] = a[k] = Vector::Zero(m);
        first[k] = kernel->rescale(2, v, u[k], RowRule::meet(rows, 2, u[k], a[k]));
        sums[k] = kernel->fused(x, RowRule::meet(rows, 2, u[k], a[k]));
        squares[k] = kernel->squares_transpose_times(p);
        ++k;
      }
      const double error = precision == Precision::float64 ? 1e-12 : 3e-6;
      EXPECT_LE(test::difference(u[0], u[1]), error * (1 + u[0].cwiseAbs().maxCoeff())) << n;
      EXPECT_LE(test::difference(a[0], a[1]), error * a[0].maxCoeff()) << n;
      EXPECT_LE(test::difference(first[0], first[1]), error * first[0].maxCoeff()) << n;
      EXPECT_LE(test::difference(sums[0], sums[1]), error * sums[0].maxCoeff()) << n;
      EXPECT_LE(test::difference(squares[0], squares[1]), error * squares[0].maxCoeff()) << n;
    }
}

// Rows that are made in every pass come from tensor cores, in two parts of 11 bits each.
TEST_F(CudaKernelTest, MadeCostsInFloatAreRightToAMillionth) {
  for (const Index d : {1, 3, 64, 784}) {
    const Matrix x = 7 * test::random_matrix(200, d, 1), z = 5 * test::random_matrix(301, d, 2);
    const GroundCost cost = GroundCost::between_points(x, z);
    const Matrix truth = cost.block(0, 200);
    const double largest = truth.maxCoeff();
    const auto kernel = kernel_on(Device::cuda, Precision::float32, 1e-9);
    kernel->use(cost);
    kernel->fix(largest, Vector::Zero(200), Vector::Zero(301));
    const Matrix found = -largest * kernel->matrix().array().log();
    // Beside the costs the exponential itself is rounded to float.
    EXPECT_LE(test::difference(found, truth), (1e-6 + 3e-7) * largest) << d;
  }
}

// Exponents are sums of terms that are a hundred thousand times as large: in float alone they would
// have no digit left. Entries of the kernel in double are the truth, from costs that float holds.
TEST_F(CudaKernelTest, SmallLambdasKeepTheirDigitsInFloat) {
  Matrix x = (1024 * test::random_matrix(200, 2, 1)).array().round() / 1024;
  Matrix z = (1024 * test::random_matrix(301, 2, 2)).array().round() / 1024;
  x.row(0).setZero();
  z.row(0).setZero();
  const GroundCost cost =
      GroundCost::dense(GroundCost::between_points(x, z).block(0, 200).unaryExpr(
          [](double c) { return static_cast<double>(static_cast<float>(c)); }));
  const double lambda = cost.range() / 1e5;
  const Vector v = cost.matrix().row(0).transpose() * (std::numbers::log2e / lambda);
  const Vector p = Vector::Constant(200, 1.0 / 200);
  const Marginal rows = Marginal::exact(p);
  Matrix found[2];
  int k = 0;
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    const auto kernel = kernel_on(Device::cuda, precision);
    kernel->use(cost);
    Vector u(200), a(200);
    kernel->rescale(lambda, v, u, RowRule::meet(rows, lambda, u, a));
    found[k++] = kernel->matrix();
  }
  EXPECT_LE(test::difference(found[0], found[1]), 1e-5);
}

TEST_F(CudaKernelTest, TheSameInputGivesTheSameBits) {
  // In one block and in several, with rows enough to take the places of others.
  for (const auto& [m, n] : {std::pair<Index, Index>{1500, 3000}, {700, 17000}}) {
    const GroundCost cost =
        GroundCost::between_points(test::random_matrix(m, 5, 1), test::random_matrix(n, 5, 2));
    const Vector x = test::random_weights(n, 3), w = test::random_weights(m, 4);
    Vector sums[2];
    for (Vector& found : sums) {
      const auto kernel = kernel_on(Device::cuda, Precision::float32);
      kernel->use(cost);
      kernel->fix(1, Vector::Zero(m), Vector::Zero(n));
      found = kernel->fused(x, RowRule::weigh(w));
    }
    EXPECT_EQ(sums[0], sums[1]);
  }
}

// Potentials of exact and relaxed problems, hard and easy, on both devices.
TEST_F(CudaKernelTest, PlansAreThoseOfTheProcessor) {
  const Matrix x = test::random_matrix(400, 4, 1), z = test::random_matrix(500, 4, 2).array() + 0.5;
  const Vector p = test::random_weights(400, 3), q = test::random_weights(500, 4);
  for (const double lambda : {10.0, 0.5, 0.05})
    for (const double tau : {0.0, 1.0}) {
      Vector g[2];
      int k = 0;
      for (const Device device : {Device::cpu, Device::cuda}) {
        Transport transport(p, q, {.threads = 1, .device = device});
        transport.set_points(x, z);
        TransportOptions options{.tolerance = 1e-11};
        options.relax_source = tau;
        const TransportResult result = transport.solve(lambda, options);
        EXPECT_TRUE(result.converged) << lambda << " " << tau;
        g[k++] = transport.g();
      }
      for (Vector& potentials : g)
        if (tau == 0) potentials.array() -= potentials.mean();
      EXPECT_LE(test::difference(g[0], g[1]), 1e-9 * (1 + g[0].cwiseAbs().maxCoeff()))
          << lambda << " " << tau;
    }
}

// Plain iterations, whose vectors stay on the GPU, until factors leave their range and come back;
// Newton steps in between, and rows of more than one block.
TEST_F(CudaKernelTest, SolversThatGoBetweenDevicesEndAsOnTheProcessor) {
  for (const Index n : {500, 11000})
    for (const auto& [solver, lambda] :
         {std::pair{SolverChoice::sinkhorn, 2.0}, std::pair{SolverChoice::sinkhorn, 0.5},
          std::pair{SolverChoice::automatic, 0.1}, std::pair{SolverChoice::newton, 0.3}}) {
      const Index m = 150;
      const Matrix x = test::random_matrix(m, 3, 1), z = test::random_matrix(n, 3, 2).array() + 0.5;
      const Vector p = test::random_weights(m, 3), q = test::random_weights(n, 4);
      Vector g[3];
      int k = 0;
      for (const Device device : {Device::cpu, Device::cuda, Device::cuda}) {
        Transport transport(p, q, {.threads = 1, .device = device});
        transport.set_points(x, z);
        TransportOptions options{.tolerance = 1e-9};
        options.solver = solver;
        options.max_passes = 20000;
        const TransportResult result = transport.solve(lambda, options);
        EXPECT_TRUE(result.converged) << n << " " << lambda;
        g[k++] = transport.g();
      }
      EXPECT_EQ(g[1], g[2]) << n << " " << lambda;
      for (Vector& potentials : g) potentials.array() -= potentials.mean();
      EXPECT_LE(test::difference(g[0], g[1]), 1e-8 * (1 + g[0].cwiseAbs().maxCoeff()))
          << n << " " << lambda;
    }
}

// A plan that stays there serves as a cost that is there.
TEST_F(CudaKernelTest, CostsThatAreThereGiveThePlanOfCostsThatAreHere) {
  const Index m = 400, n = 701;
  const Matrix x = test::random_matrix(m, 4, 1), z = test::random_matrix(n, 4, 2).array() + 0.5;
  const Vector p = test::random_weights(m, 3), q = test::random_weights(n, 4);
  Transport maker(p, q, {.threads = 1, .device = Device::cuda});
  maker.set_points(x, z);
  maker.solve(5);
  const MatrixOnGpu there = maker.plan_on_gpu();
  const Matrix here = maker.plan();
  EXPECT_EQ(fetched(there), here);
  for (const Precision precision : {Precision::float64, Precision::float32})
    for (const double ratio : {3.0, 300.0}) {
      const double lambda = here.maxCoeff() / ratio;
      const Resources resources{.threads = 1, .precision = precision, .device = Device::cuda};
      const TransportPlan expected = transport(here, p, q, lambda, {}, resources);
      const TransportOnGpu found = transport(there, p, q, lambda, {}, resources);
      EXPECT_TRUE(found.result.converged);
      EXPECT_EQ(found.f, expected.f);
      EXPECT_EQ(found.g, expected.g);
      EXPECT_EQ(found.result.cost, expected.result.cost);
      EXPECT_EQ(fetched(found.plan), expected.plan);
    }
  // The GPU where it lies is the one that solves it.
  EXPECT_TRUE(transport(there, p, q, here.maxCoeff()).result.converged);
}

TEST_F(CudaKernelTest, CostsThatAreElsewhereAreRefused) {
  Matrix here = test::random_matrix(3, 2, 1);
  const Vector p = Vector::Constant(3, 1.0 / 3), q = Vector::Constant(2, 0.5);
  EXPECT_THROW(transport(MatrixOnGpu{here.data(), false, 3, 2, 0, {}}, p, q, 1), Error);
  Transport maker(p, q, {.device = Device::cuda});
  maker.set_cost(here);
  maker.solve(1);
  MatrixOnGpu there = maker.plan_on_gpu();
  EXPECT_THROW(transport(there, p, Vector::Unit(2, 0), 1), Error);
  EXPECT_THROW(transport(there, p, q, 1, {}, {.device = Device::cpu}), Error);
  there.gpu = 1;
  EXPECT_THROW(transport(there, p, q, 1, {}, {.device = Device::cuda}), Error);
  EXPECT_THROW(fetched(there), Error);
}

TEST(Device, AMatrixOnAGpuThatThereIsNotIsRefused) {
  if (!gpus().empty()) GTEST_SKIP() << "there is a GPU";
  const double number = 0;
  const MatrixOnGpu matrix{&number, false, 1, 1, 0, {}};
  EXPECT_THROW(fetched(matrix), Error);
  EXPECT_THROW(transport(matrix, Vector::Ones(1), Vector::Ones(1), 1), Error);
  Transport here(Vector::Ones(1), Vector::Ones(1));
  EXPECT_THROW(here.set_cost(matrix), Error);
  here.set_cost(Matrix::Ones(1, 1));
  here.solve(1);
  EXPECT_THROW(here.plan_on_gpu(), Error);
}

TEST(Device, AGpuThatThereIsNotIsRefused) {
  const auto count = gpus().size();
  if (count > 7) GTEST_SKIP() << "there are all the GPUs that can be named";
  const auto device = static_cast<Device>(static_cast<std::size_t>(Device::cuda) + count);
  const std::string message = test::message_of([&] { kernel_on(device, Precision::float64); });
  EXPECT_TRUE(test::contains(message, "device")) << message;
  EXPECT_TRUE(test::contains(message, "cpu")) << message;
  EXPECT_EQ(why_no_gpu().empty(), count > 0);
}

// Whatever there is, auto ends with a plan.
TEST(Device, AutoNeedsNoGpu) {
  Transport transport(test::random_weights(20, 1), test::random_weights(30, 2), {.threads = 1});
  transport.set_points(test::random_matrix(20, 2, 3), test::random_matrix(30, 2, 4));
  EXPECT_TRUE(transport.solve(1, {}).converged);
}

}  // namespace
}  // namespace remblai
