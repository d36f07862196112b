// The inner loops, in entries a second, beside a plain copy: what a pass may cost at best. The
// argument is the number of columns; rows are as many as fill 2 MB (in a cache) or 256 MB (not).
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "base/simd.h"
#include "transport/costs.h"

namespace remblai {
namespace {

template <class T>
RowMatrix<T> entries(const benchmark::State& state) {
  const Index n = state.range(0), bytes = state.range(1);
  return RowMatrix<T>::Constant(bytes / n / static_cast<Index>(sizeof(T)) / 4 * 4, n, T(0.5));
}

void count(benchmark::State& state, Index size) {
  state.counters["entries"] =
      benchmark::Counter(static_cast<double>(size), benchmark::Counter::kIsIterationInvariantRate);
}

template <class T>
void copy(benchmark::State& state) {
  const RowMatrix<T> from = entries<T>(state);
  RowMatrix<T> to = from;
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), sizeof(T) * static_cast<std::size_t>(from.size()));
    benchmark::ClobberMemory();
  }
  count(state, from.size());
}

template <class T>
void exponentials(benchmark::State& state) {
  const RowMatrix<T> c = entries<T>(state);
  RowMatrix<T> k = c;
  const Vector v = Vector::Constant(c.cols(), -3.7);
  for (auto _ : state)
    for (Index i = 0; i < c.rows(); ++i)
      benchmark::DoNotOptimize(
          simd::loops<T>().exp2_row(c.row(i).data(), v.data(), 11, 0, k.row(i).data(), c.cols()));
  count(state, c.size());
}

// What a Sinkhorn iteration does: four rows are multiplied, then added to the column sums.
template <class T>
void sinkhorn(benchmark::State& state) {
  const RowMatrix<T> k = entries<T>(state);
  const Eigen::Matrix<T, Eigen::Dynamic, 1> b = Vector::Ones(k.cols()).template cast<T>();
  Eigen::Matrix<T, Eigen::Dynamic, 1> sums = b;
  const T a[4] = {1, 1, 1, 1};
  double products[4];
  for (auto _ : state)
    for (Index i = 0; i < k.rows(); i += 4) {
      simd::loops<T>().dot_rows4(k.row(i).data(), k.cols(), b.data(), k.cols(), products);
      benchmark::DoNotOptimize(products);
      simd::loops<T>().add_rows4(k.row(i).data(), k.cols(), a, sums.data(), k.cols());
    }
  count(state, k.size());
}

#define REMBLAI_BENCHMARK(name) \
  BENCHMARK(name)->ArgsProduct({{500, 10000}, {1 << 21, 1 << 28}})->Unit(benchmark::kMicrosecond)
REMBLAI_BENCHMARK(copy<double>);
REMBLAI_BENCHMARK(copy<float>);
REMBLAI_BENCHMARK(exponentials<double>);
REMBLAI_BENCHMARK(exponentials<float>);
REMBLAI_BENCHMARK(sinkhorn<double>);
REMBLAI_BENCHMARK(sinkhorn<float>);
#undef REMBLAI_BENCHMARK

}  // namespace
}  // namespace remblai
