# Whether several processes can work on one problem by MPI, and the source for it. REMBLAI_HAS_MPI says
# what came of REMBLAI_MPI.
set(REMBLAI_HAS_MPI OFF)
if(REMBLAI_MPI OR REMBLAI_MPI STREQUAL "AUTO")
  # By its interface in C, which every MPI has.
  enable_language(C)
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(REMBLAI_HAS_MPI ON)
  elseif(NOT REMBLAI_MPI STREQUAL "AUTO")
    message(FATAL_ERROR "REMBLAI_MPI=ON needs MPI; on Debian: apt-get install libopenmpi-dev")
  endif()
endif()

if(REMBLAI_HAS_MPI)
  set(mpi_sources src/base/comm_mpi.cpp)
  # Without the old classes for C++, which need a library of their own.
  set_source_files_properties(src/base/comm_mpi.cpp PROPERTIES COMPILE_DEFINITIONS
                                                               "OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX")
else()
  set(mpi_sources src/base/no_mpi.cpp)
endif()
# MPI's header is nobody else's. What else is compiled together does not depend on whether there is MPI.
list(APPEND mpi_sources src/base/comm.cpp src/base/shard.cpp src/transport/kernel_ranks.cpp)
set_source_files_properties(${mpi_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
