# Whether GPUs are used, and the sources for it. REMBLAI_HAS_CUDA says what came of REMBLAI_CUDA.
set(REMBLAI_HAS_CUDA OFF)
if(NOT REMBLAI_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  find_program(REMBLAI_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH PATHS /usr/local/cuda/bin
               PATH_SUFFIXES bin)
  if(REMBLAI_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${REMBLAI_NVCC})
  endif()
  if(REMBLAI_NVCC)
    # Machine code for Ampere, Hopper and Blackwell, and an intermediate form for what comes later.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 100-real 100-virtual)
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
  endif()
  if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND AND EXISTS "${CUDAToolkit_INCLUDE_DIRS}/cublas_v2.h")
    set(REMBLAI_HAS_CUDA ON)
  elseif(REMBLAI_CUDA STREQUAL "ON")
    message(FATAL_ERROR "REMBLAI_CUDA=ON needs nvcc and cuBLAS's headers (CUDA 12.4 or later); "
                        "name nvcc by -D CMAKE_CUDA_COMPILER=PATH")
  endif()
endif()

if(REMBLAI_HAS_CUDA)
  set(cuda_sources src/transport/cuda/kernel_cuda.cpp src/transport/cuda/passes.cu
                   src/transport/cuda/runtime.cpp)
  # Their headers are nobody else's.
  set_source_files_properties(
    src/transport/cuda/kernel_cuda.cpp src/transport/cuda/runtime.cpp
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
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
