// A message to a rank that there is none, for a caller who lets the calls of MPI return with an
// error, as mpi4py does. The program must not come to its end.
#include <mpi.h>

#include <cstdio>

#include "remblai/comm.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const double value = 1;
  std::puts("so far");
  std::fflush(stdout);
  remblai::mpi_comm(MPI_Comm_c2f(MPI_COMM_WORLD))->send(&value, 1, 99);
  std::puts("went on");
  MPI_Finalize();
}
