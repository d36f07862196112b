# The Python module remblai._core, for the wheel that pyproject.toml describes. nanobind comes with the
# Python that builds.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_package(nanobind CONFIG)
if(NOT nanobind_FOUND)
  message(FATAL_ERROR "Missing for ${Python_EXECUTABLE}: nanobind. Build with `pip install .`, "
                      "which brings it, or `pip install nanobind` first.")
endif()

nanobind_add_module(_core NB_STATIC NB_SUPPRESS_WARNINGS python/bind_fit.cpp
                    python/bind_model.cpp python/bind_spd.cpp python/bind_transport.cpp python/bindings.cpp
                    python/options.cpp python/watch.cpp)
target_include_directories(_core PRIVATE python)
unite(_core)
unite(nanobind-static)
# pip keeps what CMake says to itself, unless it was called with -v. Who waits at a terminal is told there;
# a terminal that stops what writes from the background does not stop this.
set(notice "Compiling the library and the module remblai._core: about two minutes on two cores")
set(told 1)
if(DEFINED SKBUILD AND UNIX)
  execute_process(
    COMMAND sh -c "trap '' TTOU; printf '\n  %s; pip install -v shows each step.\n' \"$0\" >/dev/tty" "${notice}"
    RESULT_VARIABLE told
    ERROR_QUIET)
endif()
if(NOT told EQUAL 0)
  message(STATUS "${notice}")
endif()
# The module exports what Python asks for, and nothing of the library inside it.
target_link_libraries(_core PRIVATE remblai_flags fmt::fmt remblai_internal)
check_linker_flag(CXX LINKER:--exclude-libs=ALL REMBLAI_HAS_EXCLUDE_LIBS)
if(REMBLAI_HAS_EXCLUDE_LIBS)
  target_link_options(_core PRIVATE LINKER:--exclude-libs=ALL)
endif()

set(stub ${PROJECT_BINARY_DIR}/_core.pyi)
nanobind_add_stub(
  _core_stub
  MODULE _core
  INCLUDE_PRIVATE # for lambda_
  OUTPUT ${stub}
  PYTHON_PATH $<TARGET_FILE_DIR:_core>
  DEPENDS _core)

install(TARGETS _core LIBRARY DESTINATION remblai COMPONENT python)
install(FILES ${stub} DESTINATION remblai COMPONENT python)
