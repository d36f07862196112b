// The processes that mpirun started this one among: who speaks, who writes, and how all of them
// end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "remblai/comm.h"

namespace remblai::cli {

/// Joins the others, if there are any. All but the first fall silent. For commands that several can
/// do: MPI cannot be started twice among the same processes, nor below a program that has started
/// it.
void join_ranks();

/// Whether mpirun, or what else starts programs of MPI, started several, as the environment says.
bool started_as_several();

/// Null where this process works alone.
const std::shared_ptr<const Comm>& ranks();

/// More than one.
bool several_ranks();

/// The one that speaks and writes; also a process that works alone.
bool first_rank();

/// Calls `work` on the first rank alone. Where it throws Error, all ranks do.
void on_first_rank(const std::function<void()>& work);

/// True where it is on any rank.
bool any_rank(bool here);

/// After a failure: true where this rank is to tell of it. When not all ranks failed, it tells and
/// ends all of them with `code`.
bool tells_failure(const std::function<void()>& tell, int code);

}  // namespace remblai::cli
