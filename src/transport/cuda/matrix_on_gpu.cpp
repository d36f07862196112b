// One look at all entries, and the way to the processor.
#include "transport/cuda/matrix_on_gpu.h"

#include <fmt/format.h>

#include "remblai/error.h"
#include "transport/cuda/entries.h"
#include "transport/cuda/kernel_cuda.h"
#include "transport/cuda/runtime.h"

namespace remblai {
namespace cuda {
namespace {

// The driver knows whose memory it is.
void require_there(const MatrixOnGpu& matrix) {
  cudaPointerAttributes place{};
  const bool known = cudaPointerGetAttributes(&place, matrix.data) == cudaSuccess;
  cudaGetLastError();
  const bool there =
      known && (place.type == cudaMemoryTypeDevice || place.type == cudaMemoryTypeManaged);
  if (!there || place.device != matrix.gpu || matrix.gpu >= gpu_count())
    throw Error({.field = "matrix",
                 .problem = fmt::format("is not in the memory of GPU {}", matrix.gpu),
                 .remedy =
                     "give a matrix of a GPU that remblai info --devices lists, or one of the "
                     "processor"});
}

template <class T>
Matrix fetched_as(const MatrixOnGpu& matrix) {
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> out(matrix.rows,
                                                                        matrix.columns);
  check(cudaMemcpy(out.data(), matrix.data, static_cast<std::size_t>(out.size()) * sizeof(T),
                   cudaMemcpyDeviceToHost),
        "a matrix");
  return out.template cast<double>();
}

}  // namespace
}  // namespace cuda

Extremes extremes_of(const MatrixOnGpu& matrix) {
  using namespace cuda;
  if (matrix.rows <= 0 || matrix.columns <= 0) return {};
  require_there(matrix);
  const OnGpu scope(matrix.gpu);
  check(cudaDeviceSynchronize(), "what was asked for before");
  Buffer<Extremes> parts;
  parts.resize(extreme_parts);
  const std::int64_t size = matrix.rows * matrix.columns;
  if (matrix.in_float)
    find_extremes(static_cast<const float*>(matrix.data), size, parts.data(), nullptr);
  else
    find_extremes(static_cast<const double*>(matrix.data), size, parts.data(), nullptr);
  Extremes found[extreme_parts];
  check(cudaMemcpy(found, parts.data(), sizeof found, cudaMemcpyDeviceToHost), "a matrix");
  Extremes all = found[0];
  for (const Extremes& part : found) all = both(all, part);
  return all;
}

Matrix fetched(const MatrixOnGpu& matrix) {
  using namespace cuda;
  if (matrix.rows <= 0 || matrix.columns <= 0) return Matrix(matrix.rows, matrix.columns);
  require_there(matrix);
  const OnGpu scope(matrix.gpu);
  check(cudaDeviceSynchronize(), "what was asked for before");
  return matrix.in_float ? fetched_as<float>(matrix) : fetched_as<double>(matrix);
}

}  // namespace remblai
