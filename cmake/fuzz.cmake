# Fuzzing: the targets as programs of libFuzzer in the preset `fuzz`, and in the other presets a program
# that runs them on the inputs that are kept (tests/fuzz), which ctest does.
set(fuzz_readers npy npz csv idx mat5 mat73)
set(fuzz_others model options journal)

# The readers by themselves: little to compile, and little to load.
add_library(remblai_fuzz_readers OBJECT tests/fuzz/readers.cpp)
target_include_directories(remblai_fuzz_readers PRIVATE include tests/fuzz)
target_link_libraries(remblai_fuzz_readers PRIVATE remblai_flags fmt::fmt ZLIB::ZLIB Eigen3::Eigen
                                                   PkgConfig::REMBLAI_HDF5)
add_library(remblai_fuzz_others OBJECT tests/fuzz/programs.cpp)
target_include_directories(remblai_fuzz_others PRIVATE tests/fuzz)
target_link_libraries(remblai_fuzz_others PRIVATE remblai_commands remblai_flags fmt::fmt
                                                  nlohmann_json::nlohmann_json)
foreach(library remblai_fuzz_readers remblai_fuzz_others)
  target_compile_definitions(${library} PRIVATE EIGEN_MAX_ALIGN_BYTES=64)
endforeach()

if(CMAKE_BUILD_TYPE STREQUAL "Fuzz")
  # The readers with the sanitizers, and without them for HDF5. That is read in a child process, where a
  # report of a sanitizer is an error message like any other end; but a process forks ten times as fast
  # without.
  foreach(kind watched guarded)
    add_library(
      remblai_fuzz_io_${kind} OBJECT
      ${io_sources} src/base/cgroup.cpp src/base/engine.cpp src/base/error.cpp src/base/linalg.cpp
      src/base/linalg_factors.cpp src/base/memory.cpp src/base/openblas_core.cpp
      src/base/parallel.cpp src/fit/domain.cpp src/fit/options.cpp tests/fuzz/readers.cpp)
    unite(remblai_fuzz_io_${kind})
    target_include_directories(remblai_fuzz_io_${kind} PRIVATE include src tests/fuzz)
    target_compile_definitions(remblai_fuzz_io_${kind} PRIVATE EIGEN_MAX_ALIGN_BYTES=64)
    target_link_libraries(remblai_fuzz_io_${kind} PRIVATE remblai_flags Eigen3::Eigen ${linked_libraries})
  endforeach()
  set(without_sanitizers -fno-sanitize=address,undefined)
  target_compile_options(remblai_fuzz_io_guarded PRIVATE ${without_sanitizers})
  foreach(target ${fuzz_readers} ${fuzz_others})
    add_executable(fuzz_${target} tests/fuzz/driver.cpp)
    target_compile_definitions(fuzz_${target} PRIVATE REMBLAI_FUZZ_TARGET=${target})
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_${target} PRIVATE remblai_flags)
    if(target STREQUAL "mat73")
      target_compile_options(fuzz_${target} PRIVATE ${without_sanitizers})
      target_link_options(fuzz_${target} PRIVATE ${without_sanitizers})
      target_link_libraries(fuzz_${target} PRIVATE remblai_fuzz_io_guarded)
    elseif(target IN_LIST fuzz_readers)
      target_link_libraries(fuzz_${target} PRIVATE remblai_fuzz_io_watched)
    else()
      target_link_libraries(fuzz_${target} PRIVATE remblai_fuzz_readers remblai_fuzz_others
                                                   remblai_commands)
    endif()
    list(APPEND fuzz_programs fuzz_${target})
  endforeach()
  add_custom_target(fuzz_programs DEPENDS ${fuzz_programs})
  return()
endif()

add_executable(remblai_replay tests/fuzz/replay.cpp)
target_link_libraries(remblai_replay PRIVATE remblai_fuzz_readers remblai_fuzz_others
                                             remblai_commands remblai_flags fmt::fmt)
add_test(NAME Fuzz.what_ever_broke_something COMMAND remblai_replay
                                                     ${PROJECT_SOURCE_DIR}/tests/fuzz)
set_tests_properties(Fuzz.what_ever_broke_something PROPERTIES LABELS fast TIMEOUT 600)
