// The metric step and the subspace rule: a ten-step fit at d = 4096 against the
// eigen-decompositions of 4096 x 4096 that it avoids, timed in the same run. REMBLAI_DATA names a
// folder with office-caltech/decaf6; without it random points of the same shape are used.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "base/linalg.h"
#include "remblai/fit.h"
#include "remblai/io.h"

namespace remblai {
namespace {

Matrix random_points(Index rows, Index columns, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  Matrix points(rows, columns);
  for (double& value : points.reshaped()) value = normal(generator);
  return points;
}

Problem decaf6() {
  const char* data = std::getenv("REMBLAI_DATA");
  const std::string folder = std::string(data ? data : "") + "/office-caltech/decaf6/";
  Problem problem;
  if (std::filesystem::exists(folder + "dslr.mat")) {
    problem.source.points = io::read_points(folder + "dslr.mat");
    problem.target.points = io::read_points(folder + "webcam.mat");
  } else {
    problem.source.points = random_points(157, 4096, 1).cwiseMax(0);
    problem.target.points = random_points(295, 4096, 2).cwiseMax(0);
  }
  return problem;
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Counter: how many times faster than ten decompositions of the full size.
void ten_steps_decaf6(benchmark::State& state) {
  const linalg::Threads alone(1);
  const Matrix full = linalg::gram(random_points(4200, 4096, 3));
  const double decomposition = seconds_of([&] { benchmark::DoNotOptimize(linalg::eigh(full)); });
  const Problem problem = decaf6();
  Options options;
  options.steps = 10;
  options.outer_tolerance = 0;
  options.resources.threads = 1;
  double total = 0;
  for (auto _ : state)
    total += seconds_of([&] { benchmark::DoNotOptimize(fit(problem, options)); });
  state.counters["eigh_4096_seconds"] = decomposition;
  state.counters["times_faster"] =
      10 * decomposition * static_cast<double>(state.iterations()) / total;
}
BENCHMARK(ten_steps_decaf6)->Unit(benchmark::kMillisecond)->MinTime(2);

void eigen_decomposition(benchmark::State& state) {
  const linalg::Threads alone(1);
  const Matrix a = linalg::gram(random_points(state.range(0) + 10, state.range(0), 1));
  for (auto _ : state) benchmark::DoNotOptimize(linalg::eigh(a));
}
BENCHMARK(eigen_decomposition)->Arg(100)->Arg(450)->Arg(784)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace remblai
