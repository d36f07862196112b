// Errors put into words, and cuBLAS.
#include "transport/cuda/runtime.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "remblai/error.h"

namespace remblai::cuda {
namespace {

// The functions of cuBLAS that are used here.
struct Library {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasDgemm_v2_64) dgemm = nullptr;
  decltype(&cublasGemmEx_64) gemm_ex = nullptr;
  decltype(&cublasDtrsm_v2_64) dtrsm = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw Error({.field = "device",
                 .problem = fmt::format("the cuBLAS of this machine has no {}", name),
                 .remedy = "install cuBLAS 12 or later, or give the $device cpu"});
}

const Library& library() {
  static const Library loaded = [] {
    void* file = nullptr;
    const std::string own = fmt::format("libcublas.so.{}", CUDART_VERSION / 1000);
    for (const char* name : {own.c_str(), "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"})
      if (!file) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!file)
      throw Error({.field = "device",
                   .problem = "cuBLAS (libcublas.so) is not installed, or not where libraries are "
                              "looked for",
                   .remedy = "install it, add its folder to LD_LIBRARY_PATH, or give the $device "
                             "cpu"});
    Library all;
    find(file, "cublasCreate_v2", all.create);
    find(file, "cublasDestroy_v2", all.destroy);
    find(file, "cublasSetStream_v2", all.set_stream);
    find(file, "cublasSetWorkspace_v2", all.set_workspace);
    find(file, "cublasDgemm_v2_64", all.dgemm);
    find(file, "cublasGemmEx_64", all.gemm_ex);
    find(file, "cublasDtrsm_v2_64", all.dtrsm);
    return all;
  }();
  return loaded;
}

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error({.field = "device",
                 .problem = fmt::format("a matrix product failed on the GPU (cuBLAS status {})",
                                        static_cast<int>(status)),
                 .remedy = "give a smaller $memory, or the $device cpu"});
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that is not sticky is done with
  const bool full = status == cudaErrorMemoryAllocation;
  throw Error({.field = "device",
               .problem = fmt::format("the GPU refused {}: {}", what, cudaGetErrorString(status)),
               .remedy = full ? "give a smaller $memory, the $precision float, or the $device cpu"
                              : "run again, or give the $device cpu"});
}

Blas::Blas() {
  cublasHandle_t handle = nullptr;
  check(library().create(&handle));
  handle_ = handle;
}

void Blas::use(cudaStream_t stream) {
  check(library().set_stream(static_cast<cublasHandle_t>(handle_), stream));
}

Blas::~Blas() {
  library().destroy(static_cast<cublasHandle_t>(handle_));
}

void Blas::use_workspace(void* memory, std::size_t bytes) {
  check(library().set_workspace(static_cast<cublasHandle_t>(handle_), memory, bytes));
}

// cuBLAS counts columns first: what it takes for C' = op(B)' op(A)' is C row by row.
void Blas::gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                double alpha, const double* a, std::int64_t lda, const double* b, std::int64_t ldb,
                double beta, double* c, std::int64_t ldc) const {
  const auto flag = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  check(library().dgemm(static_cast<cublasHandle_t>(handle_), flag(transpose_b), flag(transpose_a),
                        n, m, k, &alpha, b, ldb, a, lda, &beta, c, ldc));
}

// Counting columns first L is the upper triangle L', and rows are columns.
void Blas::solve_rows(bool transposed, std::int64_t rows, std::int64_t order, const double* l,
                      std::int64_t ldl, double* x, std::int64_t ldx) const {
  const double one = 1;
  check(library().dtrsm(static_cast<cublasHandle_t>(handle_), CUBLAS_SIDE_LEFT,
                        CUBLAS_FILL_MODE_UPPER, transposed ? CUBLAS_OP_N : CUBLAS_OP_T,
                        CUBLAS_DIAG_NON_UNIT, order, rows, &one, l, ldl, x, ldx));
}

// cuBLAS counts columns first: its C' = B A' is C row by row.
void Blas::times_transpose(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                           const double* a, const double* b, double* c, std::int64_t stride) const {
  const double zero = 0;
  check(library().dgemm(static_cast<cublasHandle_t>(handle_), CUBLAS_OP_T, CUBLAS_OP_N, n, m, k,
                        &alpha, b, k, a, k, &zero, c, stride));
}

void Blas::times_transpose_of_split(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                                    const float* a, const float* b, float* c,
                                    std::int64_t stride) const {
  const float zero = 0;
  check(library().gemm_ex(static_cast<cublasHandle_t>(handle_), CUBLAS_OP_T, CUBLAS_OP_N, n, m, k,
                          &alpha, b, CUDA_R_32F, k, a, CUDA_R_32F, k, &zero, c, CUDA_R_32F, stride,
                          CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT));
}

void Blas::times(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                 std::int64_t stride, const double* b, double* c) const {
  const double one = 1, zero = 0;
  check(library().dgemm(static_cast<cublasHandle_t>(handle_), CUBLAS_OP_N, CUBLAS_OP_N, k, m, n,
                        &one, b, k, a, stride, &zero, c, k));
}

}  // namespace remblai::cuda
