// What stands for MPI in a build without it.
#include "remblai/comm.h"
#include "remblai/error.h"

namespace remblai {

bool has_mpi() {
  return false;
}

std::shared_ptr<const Comm> mpi_world() {
  return nullptr;
}

std::shared_ptr<const Comm> mpi_comm(int) {
  throw Error({.field = "comm",
               .problem = "this build has no MPI",
               .remedy = "build with -D REMBLAI_MPI=ON (Debian: libopenmpi-dev)"});
}

}  // namespace remblai
