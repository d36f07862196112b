// The whole method on the embedded digits: what bench/overhead.py compares Python with.
#include "remblai/fit.h"

#include <benchmark/benchmark.h>

#include "remblai/sample.h"

namespace remblai {
namespace {

void fit_digits(benchmark::State& state) {
  const Sample digits = mnist_sample();
  Problem problem;
  problem.source = digits.source;
  problem.target.points = digits.target.points;
  for (auto _ : state) benchmark::DoNotOptimize(fit(problem, {.resources = {.threads = 1}}));
}
BENCHMARK(fit_digits)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace remblai
