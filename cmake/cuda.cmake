# Whether GPUs are used, and the sources for it. REMBLAI_HAS_CUDA says what came of REMBLAI_CUDA.
set(REMBLAI_HAS_CUDA OFF)
if(REMBLAI_CUDA OR REMBLAI_CUDA STREQUAL "AUTO")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(REMBLAI_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(REMBLAI_NVCC)
      set(CMAKE_CUDA_COMPILER ${REMBLAI_NVCC})
    endif()
  endif()
  # A compiler that does not work is none, unless it was asked for.
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit QUIET)
  endif()
  if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.0)
    find_file(REMBLAI_CUBLAS_HEADER cublas_v2.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  endif()
  if(REMBLAI_CUBLAS_HEADER)
    # Machine code for Ampere, Hopper and Blackwell, and an intermediate form for what comes later.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
      if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
        set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 100-real 100-virtual)
      endif()
    endif()
    enable_language(CUDA)
    set(REMBLAI_HAS_CUDA ON)
  elseif(NOT REMBLAI_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "REMBLAI_CUDA=ON needs nvcc and cuBLAS's headers of CUDA 12.0 or later; "
                        "name nvcc by -D CMAKE_CUDA_COMPILER=PATH")
  endif()
endif()

if(REMBLAI_HAS_CUDA)
  # Their headers are nobody else's.
  set(cuda_sources src/transport/cuda/channel.cpp src/transport/cuda/columns.cu
                   src/transport/cuda/dense.cu src/transport/cuda/devices.cpp
                   src/transport/cuda/engine_cuda.cpp src/transport/cuda/entries.cu
                   src/transport/cuda/gradients_cuda.cpp
                   src/transport/cuda/iterations_cuda.cpp src/transport/cuda/kernel_cuda.cpp
                   src/transport/cuda/matrix_on_gpu.cpp
                   src/transport/cuda/products_cuda.cpp src/transport/cuda/ridge_cuda.cpp
                   src/transport/cuda/runtime.cpp
                   src/transport/cuda/storage.cpp
                   src/transport/cuda/sweep.cu src/transport/cuda/vectors.cu)
  set_source_files_properties(${cuda_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
else()
  set(cuda_sources src/transport/cuda/no_cuda.cpp)
endif()

# The runtime is linked in, and cuBLAS is loaded when it is needed: a program starts without either.
function(use_cuda target)
  if(NOT REMBLAI_HAS_CUDA)
    return()
  endif()
  # CMake 3.25 does not know how to ask nvcc 13 for C++20.
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
                                             CUDA_VISIBILITY_PRESET hidden)
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
endfunction()
