// Memory and matrix products of a GPU, and its errors as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "remblai/types.h"

namespace remblai::cuda {

/// Throws Error when a call of the CUDA runtime failed: what was asked, what the driver says, what
/// would help.
void check(cudaError_t status, const char* what);

/// Memory of the current GPU. It keeps its size, or grows, from one `resize` to the next.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { release(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// What it held is lost when it grows.
  void resize(std::int64_t size) {
    if (size <= size_) return;
    release();
    check(cudaMalloc(reinterpret_cast<void**>(&data_), static_cast<std::size_t>(size) * sizeof(T)),
          "memory for a matrix");
    size_ = size;
  }
  void release() {
    cudaFree(data_);
    data_ = nullptr;
    size_ = 0;
  }
  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  T* data() const { return data_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(T)); }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// A few numbers of the processor's memory that a GPU writes to by itself.
class PinnedNumbers {
 public:
  PinnedNumbers() = default;
  ~PinnedNumbers() { cudaFreeHost(data_); }
  PinnedNumbers(const PinnedNumbers&) = delete;
  PinnedNumbers& operator=(const PinnedNumbers&) = delete;

  double* resized(std::size_t size) {
    if (size <= size_) return data_;
    cudaFreeHost(std::exchange(data_, nullptr));
    check(
        cudaHostAlloc(reinterpret_cast<void**>(&data_), size * sizeof(double), cudaHostAllocMapped),
        "pinned memory");
    size_ = size;
    return data_;
  }

 private:
  double* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Calls within its scope go to one GPU.
class OnGpu {
 public:
  explicit OnGpu(int gpu) {
    check(cudaGetDevice(&before_), "its number");
    if (gpu != before_) check(cudaSetDevice(gpu), "to be used");
  }
  ~OnGpu() {
    int now = before_;
    if (cudaGetDevice(&now) != cudaSuccess || now != before_) cudaSetDevice(before_);
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  int before_ = 0;
};

/// cuBLAS, loaded when it is first needed, so that a program that was built with CUDA starts on a
/// machine without it.
class Blas {
 public:
  Blas();
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Work goes to this stream from now on.
  void use(cudaStream_t stream);

  /// C = alpha op(A) op(B) + beta C, row by row: C is m x n and op(A) m x k. `lda`, `ldb` and `ldc`
  /// are how far rows are apart in memory.
  void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
            double alpha, const double* a, std::int64_t lda, const double* b, std::int64_t ldb,
            double beta, double* c, std::int64_t ldc) const;

  /// Every one of the rows, x of length `order`, becomes L^-1 x, or L'^-1 x where `transposed`. L
  /// is a lower triangle, row by row. Rows of L are `ldl` apart in memory, and the others `ldx`.
  void solve_rows(bool transposed, std::int64_t rows, std::int64_t order, const double* l,
                  std::int64_t ldl, double* x, std::int64_t ldx) const;

  /// Works in this memory from now on, and not in what other handles share.
  void use_workspace(void* memory, std::size_t bytes);

  /// C = alpha A B', row by row: A is m x k, B is n x k, C is m x n with rows `stride` apart.
  void times_transpose(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                       const double* a, const double* b, double* c, std::int64_t stride) const;

  /// The same for numbers that tensor cores can hold, of 11 bits each: see `split`.
  void times_transpose_of_split(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                                const float* a, const float* b, float* c,
                                std::int64_t stride) const;

  /// C = A B: A is m x n with rows `stride` apart, B is n x k, C is m x k.
  void times(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t stride,
             const double* b, double* c) const;

 private:
  void* handle_ = nullptr;
};

}  // namespace remblai::cuda
