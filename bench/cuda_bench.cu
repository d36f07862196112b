// One sweep over a stored matrix beside the copy bandwidth of the GPU: build with
// REMBLAI_BUILD_BENCH where nvcc is installed, then run remblai_cuda_bench.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "transport/cuda/entries.h"
#include "transport/cuda/sweep.h"

namespace {

using namespace remblai::cuda;

void require(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

template <class T>
T* allocate(std::int64_t count) {
  void* data = nullptr;
  require(cudaMalloc(&data, static_cast<std::size_t>(count) * sizeof(T)));
  return static_cast<T*>(data);
}

// Milliseconds of a call, of several in a row: the median of some trials.
template <class Call>
float median(Call&& call) {
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin));
  require(cudaEventCreate(&end));
  constexpr int in_a_row = 10;  // as an iteration follows another, without a pause of the GPU
  std::vector<float> times(9);
  for (int warm = 0; warm < 3; ++warm) call();
  for (float& time : times) {
    require(cudaEventRecord(begin));
    for (int k = 0; k < in_a_row; ++k) call();
    require(cudaEventRecord(end));
    require(cudaEventSynchronize(end));
    require(cudaEventElapsedTime(&time, begin, end));
    time /= in_a_row;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double copy_bandwidth() {
  const std::int64_t bytes = std::int64_t{1} << 32;
  char *from = allocate<char>(bytes), *to = allocate<char>(bytes);
  require(cudaMemset(from, 1, static_cast<std::size_t>(bytes)));
  const float time = median([&] {
    cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, nullptr);
  });
  cudaFree(from);
  cudaFree(to);
  return 2.0 * static_cast<double>(bytes) / time / 1e6;
}

template <class T>
void measure(std::int64_t n, double bandwidth, const cudaDeviceProp& gpu) {
  const int processors = gpu.multiProcessorCount;
  Tile<T> tile;
  tile.rows = tile.columns = n;
  tile.stride = (n + 3) / 4 * 4;
  tile.entries = tile.kernel = allocate<T>(n * tile.stride);
  require(cudaMemset(tile.kernel, 0, static_cast<std::size_t>(n * tile.stride) * sizeof(T)));
  double *columns = allocate<double>(n), *x = allocate<double>(n), *sums = allocate<double>(n),
         *weights = allocate<double>(n), *out = allocate<double>(n),
         *products = allocate<double>(n), *factors = allocate<double>(n),
         *partial =
             allocate<double>(std::max(partial_size(tile.stride, processors), partial_products(n)));
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  for (double* vector : {columns, x, weights})
    require(cudaMemcpy(vector, ones.data(), ones.size() * sizeof(double), cudaMemcpyHostToDevice));
  find_shifts<T>(tile, columns, 1, out, nullptr);
  exponentials<T>(tile, {columns, out, 1, 1}, x, products, nullptr, partial, processors, nullptr);
  RowWork work;
  work.kind = RowWork::meet_exact;
  work.weights = weights;
  work.out = out;
  SweepRoom room{partial,
                 products,
                 factors,
                 0,
                 processors,
                 static_cast<int>(gpu.sharedMemPerBlockOptin),
                 gpu.l2CacheSize,
                 clusters_work(),
                 false};
  sweep<T>(tile, x, work, room, sums, false, nullptr);
  room.settled = true;
  const float time = median([&] { sweep<T>(tile, x, work, room, sums, false, nullptr); });
  require(cudaGetLastError());
  const double read = static_cast<double>(n) * static_cast<double>(n) * sizeof(T) / time / 1e6;
  std::printf("| %s | %lld | %.3f | %.0f | %.0f %% |\n", sizeof(T) == 4 ? "float" : "double",
              static_cast<long long>(n), static_cast<double>(time), read, 100 * read / bandwidth);
  for (void* memory :
       {static_cast<void*>(tile.kernel), static_cast<void*>(columns), static_cast<void*>(x),
        static_cast<void*>(sums), static_cast<void*>(weights), static_cast<void*>(out),
        static_cast<void*>(products), static_cast<void*>(factors), static_cast<void*>(partial)})
    cudaFree(memory);
}

}  // namespace

int main() {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0));
  const double bandwidth = copy_bandwidth();
  std::printf("%s, copy: %.0f GB/s\n\n", properties.name, bandwidth);
  std::printf("| entries | n | ms an iteration | GB/s | of a copy |\n|---|---|---|---|---|\n");
  for (const std::int64_t n :
       {2000, 4000, 8000, 10000, 16000, 20000, 24000, 32000, 50000, 65000, 100000})
    measure<float>(n, bandwidth, properties);
  for (const std::int64_t n : {4000, 8000, 10000, 16000, 32000, 50000, 60000})
    measure<double>(n, bandwidth, properties);
}
