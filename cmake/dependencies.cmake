# Finds every dependency, then reports all that are missing at once, by their Debian names.
include_guard()

find_package(PkgConfig QUIET)
set(missing_packages "")
set(REMBLAI_MODULES "")
if(NOT PkgConfig_FOUND)
  list(APPEND missing_packages pkg-config)
endif()

# The CMake package `name`, from the Debian package `debian`; further arguments go to find_package.
macro(require_package name debian)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    list(APPEND missing_packages ${debian})
  endif()
endmacro()

# The first pkg-config module there is of `names` (separated by |) as PkgConfig::REMBLAI_`target`, from the
# Debian package `debian`. The prefix keeps it apart from what a project around this one looks for. The
# installed package looks for the same modules (REMBLAI_MODULES) when the library is static.
macro(require_module target names debian)
  if(PkgConfig_FOUND)
    string(REPLACE "|" ";" modules "${names}")
    pkg_search_module(REMBLAI_${target} QUIET IMPORTED_TARGET ${modules})
  endif()
  if(NOT REMBLAI_${target}_FOUND)
    list(APPEND missing_packages ${debian})
  endif()
  string(APPEND REMBLAI_MODULES " ${target}=${names}")
endmacro()

require_package(Eigen3 libeigen3-dev 3.4)
require_package(fmt libfmt-dev 9)
require_package(nlohmann_json nlohmann-json3-dev)
require_package(Threads build-essential)
require_package(ZLIB zlib1g-dev)
require_module(OPENBLAS openblas libopenblas-dev)
require_module(LAPACKE lapacke liblapacke-dev)
require_module(HIGHWAY libhwy libhwy-dev)
require_module(LEMON lemon liblemon-dev)
require_module(LIBZIP libzip libzip-dev)
require_module(HDF5 "hdf5-serial|hdf5" libhdf5-dev)
find_file(
  REMBLAI_CHART_JS
  NAMES chart.min.js chart.umd.js
  PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
  NO_DEFAULT_PATH
  DOC "Chart.js 3 or 4, one file, which the reports embed")
if(NOT REMBLAI_CHART_JS)
  list(APPEND missing_packages libjs-chart.js)
endif()
if(REMBLAI_BUILD_CLI)
  require_package(CLI11 libcli11-dev)
endif()
if(REMBLAI_BUILD_TESTS)
  require_package(GTest libgtest-dev)
  require_package(rapidcheck librapidcheck-dev)
endif()
if(REMBLAI_BUILD_BENCH)
  require_package(benchmark libbenchmark-dev)
endif()

if(missing_packages)
  list(JOIN missing_packages " " missing_packages)
  message(
    FATAL_ERROR
      "Missing, by their Debian names: ${missing_packages}\n"
      "Install them with scripts/install-packages, or with: apt-get install ${missing_packages}")
endif()
