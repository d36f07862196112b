# Whether several processes can work on one problem by MPI, and the source for it. REMBLAI_HAS_MPI says
# what came of REMBLAI_MPI.
set(REMBLAI_HAS_MPI OFF)
if(REMBLAI_MPI OR REMBLAI_MPI STREQUAL "AUTO")
  # Without the old classes for C++.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(REMBLAI_HAS_MPI ON)
  elseif(NOT REMBLAI_MPI STREQUAL "AUTO")
    message(FATAL_ERROR "REMBLAI_MPI=ON needs MPI; on Debian: apt-get install libopenmpi-dev")
  endif()
endif()

if(REMBLAI_HAS_MPI)
  set(mpi_sources src/base/comm_mpi.cpp)
else()
  set(mpi_sources src/base/no_mpi.cpp)
endif()
# MPI's header is nobody else's. What else is compiled together does not depend on whether there is MPI.
set_source_files_properties(${mpi_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
list(APPEND mpi_sources src/base/comm.cpp src/base/common_rows.cpp src/base/shard.cpp src/transport/kernel_ranks.cpp)
