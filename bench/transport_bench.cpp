// The transport step on MNIST pixels (the embedded sample) and on random points, to an L1 error of
// 1e-6. Arguments: points on each side, R = max cost / lambda.
#include <benchmark/benchmark.h>

#include <random>

#include "remblai/sample.h"
#include "remblai/transport.h"
#include "transport/pairs.h"

namespace remblai {
namespace {

void solve(benchmark::State& state, const Matrix& x, const Matrix& z) {
  const double ratio = static_cast<double>(state.range(1));
  const Vector p = Vector::Constant(x.rows(), 1.0 / static_cast<double>(x.rows()));
  const Vector q = Vector::Constant(z.rows(), 1.0 / static_cast<double>(z.rows()));
  Matrix cost;
  squared_distances(x, z, cost);
  const double lambda = cost.maxCoeff() / ratio;
  TransportResult result;
  for (auto _ : state) {
    Transport problem(p, q);
    problem.set_cost(cost);
    result = problem.solve(lambda);
  }
  state.counters["passes"] = result.passes;
  state.counters["error"] = std::max(result.source_error, result.target_error);
  state.counters["gap"] = result.gap;
}

void transport_mnist(benchmark::State& state) {
  const Sample sample = mnist_sample();
  solve(state, sample.source.points, sample.target.points);
}
BENCHMARK(transport_mnist)
    ->ArgsProduct({{500}, {10, 100, 1000, 10000}})
    ->Unit(benchmark::kMillisecond);

void transport_random(benchmark::State& state) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  Matrix x(state.range(0), 64), z(state.range(0), 64);
  for (double& value : x.reshaped()) value = normal(generator);
  for (double& value : z.reshaped()) value = 0.8 * normal(generator) + 0.3;
  solve(state, x, z);
}
BENCHMARK(transport_random)
    ->ArgsProduct({{500, 2000}, {10, 100, 1000}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace remblai
