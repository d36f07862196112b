# The test programs and what else ctest runs.
# A test whose name contains "Slow" gets the label "slow"; the sanitizer run leaves those out.
include(GoogleTest)

# What is tested is the library: the code of the tests is spared most of the optimiser (without any of
# it compilers take longer). GCC 12 takes Eigen's empty matrices for uninitialised ones at -O1.
add_library(remblai_test_flags INTERFACE)
target_compile_options(remblai_test_flags INTERFACE -O1 -Wno-maybe-uninitialized)
target_compile_definitions(
  remblai_test_flags
  INTERFACE REMBLAI_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
            REMBLAI_SAMPLE_DATA="${PROJECT_SOURCE_DIR}/data/mnist-shift"
            REMBLAI_SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared/data")
target_link_libraries(remblai_test_flags INTERFACE remblai_flags remblai_strict)

# Under ThreadSanitizer the tests of what several threads share, and the parts of the library that they
# need; nothing else is built. The program runs without the random addresses of large kernels, which GCC
# 12's sanitizer cannot take. What measures memory would measure that of the sanitizer.
if(CMAKE_BUILD_TYPE STREQUAL "Tsan")
  add_executable(
    remblai_thread_tests
    ${base_sources} ${transport_sources} ${io_sources} src/fit/domain.cpp src/fit/options.cpp
    tests/base/parallel_test.cpp tests/transport/anderson_test.cpp
    tests/transport/concurrency_test.cpp tests/transport/kernel_test.cpp
    tests/transport/exact_test.cpp tests/transport/transport_stop_test.cpp
    tests/transport/transport_storage_test.cpp tests/transport/transport_test.cpp)
  unite(remblai_thread_tests)
  precompile(remblai_thread_tests <gtest/gtest.h> <Eigen/Core> <fmt/format.h>)
  target_include_directories(remblai_thread_tests PRIVATE include src tests)
  target_compile_definitions(
    remblai_thread_tests PRIVATE EIGEN_MAX_ALIGN_BYTES=64
                                 REMBLAI_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(
    remblai_thread_tests PRIVATE remblai_flags Eigen3::Eigen nlohmann_json::nlohmann_json
                                 ${linked_libraries} GTest::gtest_main)
  find_program(REMBLAI_SETARCH setarch)
  add_test(NAME Threads.under_the_sanitizer
           COMMAND ${REMBLAI_SETARCH} $<$<BOOL:${REMBLAI_SETARCH}>:-R>
                   $<TARGET_FILE:remblai_thread_tests> --gtest_brief=1
                   --gtest_filter=-*TheMemoryIsABound:*MemoryIsKept* COMMAND_EXPAND_LISTS)
  set_tests_properties(
    Threads.under_the_sanitizer
    PROPERTIES
      LABELS fast
      ENVIRONMENT
      "TSAN_OPTIONS=halt_on_error=1:suppressions=${PROJECT_SOURCE_DIR}/tests/base/tsan.supp")
  return()
endif()

# Every test of `target`, once it is built. RapidCheck draws the same cases every time.
function(discover target)
  foreach(kind fast slow)
    if(kind STREQUAL "fast")
      set(filter "-*Slow*")
    else()
      set(filter "*Slow*")
    endif()
    gtest_discover_tests(
      ${target}
      TEST_LIST ${target}_${kind}
      TEST_FILTER ${filter}
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${kind} TIMEOUT 600 ENVIRONMENT RC_PARAMS=seed=1781)
  endforeach()
endfunction()

add_executable(
  remblai_tests
  tests/base/cgroup_test.cpp
  tests/base/error_test.cpp
  tests/base/engine_test.cpp
  tests/base/linalg_test.cpp
  tests/base/parallel_test.cpp
  tests/base/simd_test.cpp
  tests/base/spd_test.cpp
  tests/base/threads_test.cpp
  tests/base/version_test.cpp
  tests/fit/alternation_test.cpp
  tests/fit/baseline_test.cpp
  tests/fit/calibration_test.cpp
  tests/fit/checkpoint_test.cpp
  tests/fit/class_aware_options_test.cpp
  tests/fit/class_aware_small_test.cpp
  tests/fit/class_aware_test.cpp
  tests/fit/class_problem_test.cpp
  tests/fit/class_shares_test.cpp
  tests/fit/class_step_test.cpp
  tests/fit/classifier_fit_test.cpp
  tests/fit/clouds_test.cpp
  tests/fit/discrepancy_test.cpp
  tests/fit/domain_test.cpp
  tests/fit/estimate_test.cpp
  tests/fit/explanation_test.cpp
  tests/fit/fit_path_test.cpp
  tests/fit/fit_test.cpp
  tests/fit/judgement_test.cpp
  tests/fit/kernel_ridge_test.cpp
  tests/fit/logistic_test.cpp
  tests/fit/metric_step_test.cpp
  tests/fit/moves_test.cpp
  tests/fit/options_test.cpp
  tests/fit/preprocess_roles_test.cpp
  tests/fit/preprocess_test.cpp
  tests/fit/space_test.cpp
  tests/io/csv_test.cpp
  tests/io/guard_test.cpp
  tests/io/idx_test.cpp
  tests/io/io_test.cpp
  tests/io/mat_test.cpp
  tests/io/npy_test.cpp
  tests/io/sample_test.cpp
  tests/io/writer_test.cpp
  tests/model/class_model_io_test.cpp
  tests/model/classifier_test.cpp
  tests/model/map_test.cpp
  tests/model/metric_test.cpp
  tests/model/model_io_test.cpp
  tests/model/model_test.cpp
  tests/model/predict_test.cpp
  tests/report/diagnosis_test.cpp
  tests/report/page_images_test.cpp
  tests/report/page_metric_test.cpp
  tests/report/page_plan_test.cpp
  tests/report/page_test.cpp
  tests/report/page_warnings_test.cpp
  tests/report/png_test.cpp
  tests/report/report_test.cpp
  tests/transport/anderson_test.cpp
  tests/transport/concurrency_test.cpp
  tests/transport/cuda/engine_cuda_test.cpp
  tests/transport/cuda/kernel_cuda_test.cpp
  tests/transport/exact_test.cpp
  tests/transport/ground_cost_test.cpp
  tests/transport/kernel_test.cpp
  tests/transport/marginal_test.cpp
  tests/transport/relaxed_test.cpp
  tests/transport/transport_stop_test.cpp
  tests/transport/transport_storage_test.cpp
  tests/transport/transport_test.cpp)
unite(remblai_tests)
precompile(remblai_tests <gtest/gtest.h> <Eigen/Core> <nlohmann/json.hpp>)
target_include_directories(remblai_tests PRIVATE src tests)
target_link_libraries(
  remblai_tests PRIVATE remblai_internal remblai_test_flags fmt::fmt nlohmann_json::nlohmann_json
                        PkgConfig::REMBLAI_HDF5 ZLIB::ZLIB GTest::gtest_main rapidcheck_gtest)
watch(remblai_tests)
discover(remblai_tests)

# Several ranks, as threads of the test, and what they read.
add_executable(
  remblai_ranks_tests tests/io/rows_test.cpp tests/ranks/class_aware_test.cpp tests/ranks/common_rows_test.cpp
                      tests/ranks/fit_test.cpp tests/ranks/kernel_ranks_test.cpp
                      tests/ranks/shard_test.cpp)
target_include_directories(remblai_ranks_tests PRIVATE src tests)
target_link_libraries(remblai_ranks_tests PRIVATE remblai_internal remblai_test_flags
                                                  GTest::gtest_main)
watch(remblai_ranks_tests)
discover(remblai_ranks_tests)

if(BUILD_SHARED_LIBS AND REMBLAI_HAS_VERSION_SCRIPT AND CMAKE_NM)
  add_test(
    NAME Library.exports_what_its_headers_declare
    COMMAND
      ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DSHARED=$<TARGET_FILE:remblai>
      -DARCHIVE=$<TARGET_FILE:remblai_internal> -DHEADERS=${PROJECT_SOURCE_DIR}/include/remblai -P
      ${PROJECT_SOURCE_DIR}/tests/base/exports.cmake)
  set_tests_properties(Library.exports_what_its_headers_declare PROPERTIES LABELS fast)
endif()

if(REMBLAI_BUILD_CLI)
  add_executable(
    remblai_cli_tests tests/cli/adapt_test.cpp tests/cli/labels_test.cpp tests/cli/bad_input_test.cpp
                      tests/cli/bench_test.cpp tests/cli/checkpoint_test.cpp tests/cli/cli_test.cpp
                      tests/cli/compare_test.cpp
                      tests/cli/harness.cpp tests/cli/outputs_test.cpp tests/cli/progress_test.cpp
                      tests/cli/report_test.cpp tests/cli/terminal_test.cpp
                      tests/cli/reproduce_test.cpp tests/cli/tools_test.cpp)
  unite(remblai_cli_tests)
  precompile(remblai_cli_tests REUSE_FROM remblai_tests)
  target_include_directories(remblai_cli_tests PRIVATE tests)
  # In a file by itself: the others are the same in every build folder.
  set_source_files_properties(
    tests/cli/harness.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                                     COMPILE_DEFINITIONS REMBLAI_BINARY="$<TARGET_FILE:remblai_cli>")
  target_link_libraries(
    remblai_cli_tests PRIVATE remblai remblai_test_flags fmt::fmt nlohmann_json::nlohmann_json
                              GTest::gtest_main)
  add_dependencies(remblai_cli_tests remblai_cli)
  discover(remblai_cli_tests)

  add_executable(
    remblai_experiments_tests
    tests/experiments/draw_test.cpp
    tests/experiments/experiment_test.cpp
    tests/experiments/journal_test.cpp
    tests/experiments/methods_test.cpp
    tests/experiments/mnist_test.cpp
    tests/experiments/office_caltech_test.cpp
    tests/experiments/published_test.cpp
    tests/experiments/results_test.cpp)
  unite(remblai_experiments_tests)
  precompile(remblai_experiments_tests REUSE_FROM remblai_tests)
  target_include_directories(remblai_experiments_tests PRIVATE src tests)
  target_link_libraries(remblai_experiments_tests
                        PRIVATE remblai_experiments remblai_test_flags fmt::fmt GTest::gtest_main)
  discover(remblai_experiments_tests)

  # NumPy comes from the system's Python, whatever other one stands first in PATH.
  find_program(REMBLAI_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  find_program(REMBLAI_PYTHON python3)
  if(REMBLAI_PYTHON)
    add_test(
      NAME Cli.numpy_opens_a_model
      COMMAND
        ${REMBLAI_PYTHON} ${PROJECT_SOURCE_DIR}/tests/cli/numpy_opens_model.py
        $<TARGET_FILE:remblai_cli> ${PROJECT_SOURCE_DIR}/data/mnist-shift
        ${PROJECT_BINARY_DIR}/numpy_opens_model)
    set_tests_properties(Cli.numpy_opens_a_model PROPERTIES SKIP_RETURN_CODE 77 LABELS fast)
  endif()

  # Under mpirun, where there is one.
  if(REMBLAI_HAS_MPI AND REMBLAI_PYTHON AND MPIEXEC_EXECUTABLE)
    add_test(
      NAME Ranks.under_mpirun
      COMMAND ${REMBLAI_PYTHON} ${PROJECT_SOURCE_DIR}/tests/ranks/mpirun_test.py
              $<TARGET_FILE:remblai_cli> ${MPIEXEC_EXECUTABLE} ${PROJECT_BINARY_DIR}/mpirun_test)
    set_tests_properties(Ranks.under_mpirun PROPERTIES LABELS slow SKIP_RETURN_CODE 77 TIMEOUT 900
                                                       COST 50)
    add_executable(remblai_mpi_errors tests/ranks/mpi_errors.cpp)
    target_link_libraries(remblai_mpi_errors PRIVATE remblai_internal remblai_test_flags
                                                     MPI::MPI_CXX)
    add_test(NAME Ranks.errors_of_mpi
             COMMAND ${PROJECT_SOURCE_DIR}/tests/ranks/mpi_errors_test.sh
                     $<TARGET_FILE:remblai_mpi_errors>)
    set_tests_properties(Ranks.errors_of_mpi PROPERTIES LABELS slow)
  else()
    message(STATUS "No test under mpirun: this build has no MPI (libopenmpi-dev, openmpi-bin)")
  endif()

  add_test(NAME Report.in_a_browser COMMAND ${PROJECT_SOURCE_DIR}/scripts/test-report
                                            $<TARGET_FILE:remblai_cli> ${PROJECT_BINARY_DIR}/report)
  # The longest of all comes first, so that nothing waits for it at the end.
  set_tests_properties(Report.in_a_browser PROPERTIES LABELS slow SKIP_RETURN_CODE 77 TIMEOUT 600
                                                      COST 100)

  add_test(NAME Cli.the_quick_start_of_the_readme
           COMMAND bash ${PROJECT_SOURCE_DIR}/tests/cli/readme_quick_start.sh ${PROJECT_SOURCE_DIR}
                   ${PROJECT_BINARY_DIR})
  set_tests_properties(Cli.the_quick_start_of_the_readme PROPERTIES LABELS slow)

  add_test(
    NAME Install.a_consumer_project_builds_and_runs
    COMMAND
      ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DVERSION=${PROJECT_VERSION}
      -DWORK=${PROJECT_BINARY_DIR}/consumer -DGENERATOR=${CMAKE_GENERATOR}
      -DCOMPILER=${CMAKE_CXX_COMPILER} -P ${PROJECT_SOURCE_DIR}/tests/consumer/run.cmake)
  set_tests_properties(Install.a_consumer_project_builds_and_runs PROPERTIES LABELS slow)

  # Only with ccache: the test would otherwise compile the library a second time.
  if(BUILD_SHARED_LIBS AND REMBLAI_CCACHE AND CMAKE_BUILD_TYPE STREQUAL "Release")
    add_test(
      NAME Install.a_consumer_of_the_static_library_builds_and_runs
      COMMAND
        ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DWORK=${PROJECT_BINARY_DIR}/static_consumer
        -DGENERATOR=${CMAKE_GENERATOR} -DCOMPILER=${CMAKE_CXX_COMPILER} -P
        ${PROJECT_SOURCE_DIR}/tests/consumer/static.cmake)
    set_tests_properties(Install.a_consumer_of_the_static_library_builds_and_runs
                         PROPERTIES LABELS slow)
  endif()
endif()
