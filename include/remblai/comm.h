// Several processes (ranks) that solve one problem together. Each has some rows of the source and
// all of the target; what crosses between them are sums over the rows and a few numbers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "remblai/api.h"
#include "remblai/types.h"

namespace remblai {

/// The few verbs that ranks need. All ranks call the same ones in the same order. What an
/// implementation cannot deliver it must not return from: a rank that is lost ends the job.
class REMBLAI_API Comm {
 public:
  virtual ~Comm();

  virtual int rank() const = 0;        ///< from 0
  virtual int size() const = 0;        ///< the number of ranks
  virtual int rank_here() const = 0;   ///< among those on this machine
  virtual int ranks_here() const = 0;  ///< how many these are

  /// The parts of all ranks, one behind the other, on every rank. `sizes` has the length of each.
  virtual Vector gather(const Vector& part, const std::vector<Index>& sizes) const = 0;

  /// Sends a part of `out` to each rank and returns what each sent here, one behind the other.
  virtual Vector exchange(const Vector& out, const std::vector<Index>& sizes_out,
                          const std::vector<Index>& sizes_in) const = 0;

  /// The largest of each entry over all ranks.
  virtual Vector maximum(const Vector& values) const = 0;
  virtual void broadcast(std::string& bytes, int from) const = 0;

  /// From one rank to another; the only verbs that not all ranks call.
  virtual void send(const double* values, Index count, int to) const = 0;
  virtual void receive(double* values, Index count, int from) const = 0;

  /// Waits until all ranks call this, at most so many seconds. True when they did. For ranks that
  /// may have left the way of the others.
  virtual bool meet(double seconds) const = 0;

  /// Ends all ranks at once.
  virtual void abort(int code) const = 0;
};

/// Calls `work`. Where it throws Error on some rank, all ranks throw that of the first of them. A
/// plain call where `comm` is null.
REMBLAI_API void agree(const Comm* comm, const std::function<void()>& work);

/// The rows of all ranks, one behind the other, on rank 0; nothing on the others. All have as many
/// columns. A plain copy where `comm` is null.
REMBLAI_API Matrix gather_rows(const Comm* comm, const Matrix& rows);

/// Whether this build has MPI.
REMBLAI_API bool has_mpi();

/// The ranks that mpirun, or what else starts programs of MPI, started this one among. Null where
/// none did, or in a build without MPI. Starts MPI where nobody has, and ends it with the program.
REMBLAI_API std::shared_ptr<const Comm> mpi_world();

/// The ranks of a communicator by its number in Fortran (MPI_Comm_c2f, or py2f of mpi4py). It must
/// outlive the result. Throws Error in a build without MPI.
REMBLAI_API std::shared_ptr<const Comm> mpi_comm(int fortran_handle);

/// The rows [first, second) of `points` that a rank should take. With these shares the results of
/// any number of ranks agree to the last bits; with others they agree to rounding. Points of weight
/// zero do not count. At most 64 ranks get any.
REMBLAI_API std::pair<Index, Index> share_of(Index points, int rank, int size);

}  // namespace remblai
