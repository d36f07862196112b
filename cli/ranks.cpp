// Ranks of the program. A rank that fails alone would leave the others waiting: it ends them.
#include "ranks.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace remblai::cli {
namespace {

// For the others to fail in the same way. Tests have other ones by the environment.
double meeting_seconds() {
  const char* given = std::getenv("REMBLAI_MPI_PATIENCE");
  return given ? std::atof(given) : 5;
}

std::shared_ptr<const Comm> world;
int loud_error = -1;  // standard error of a rank that fell silent

}  // namespace

void join_ranks() {
  world = mpi_world();
  if (first_rank()) return;
  loud_error = dup(STDERR_FILENO);
  for (std::FILE* stream : {stdout, stderr})
    if (!std::freopen("/dev/null", "w", stream)) std::setbuf(stream, nullptr);
}

bool started_as_several() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* size = std::getenv(name); size && std::atoi(size) > 1) return true;
  return false;
}

const std::shared_ptr<const Comm>& ranks() {
  return world;
}

bool several_ranks() {
  return world && world->size() > 1;
}

bool first_rank() {
  return !world || world->rank() == 0;
}

void on_first_rank(const std::function<void()>& work) {
  agree(world.get(), [&] {
    if (first_rank()) work();
  });
}

bool any_rank(bool here) {
  return world ? world->maximum(Vector::Constant(1, here ? 1 : 0))[0] > 0 : here;
}

bool tells_failure(const std::function<void()>& tell, int code) {
  if (!several_ranks() || world->meet(meeting_seconds())) return first_rank();
  if (loud_error >= 0) dup2(loud_error, STDERR_FILENO);
  tell();
  std::fflush(stderr);
  world->abort(code);
  return false;
}

}  // namespace remblai::cli
