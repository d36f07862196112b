// Checks of a problem and its options, among all ranks.
#pragma once

#include <string>

#include "base/shard.h"
#include "remblai/domain.h"
#include "remblai/options.h"

namespace remblai {

/// Throws Error when domains, options, features or known labels do not fit together.
void require_usable(const Problem& problem, const Options& options, const Shard& all);

/// What each rank has of the probabilities of all source points.
Vector probabilities_of(const Domain& source, const Shard& all);

/// Throws Error on all ranks where they did not give the same target and options, or labels on some
/// of them alone: their fits would be different ones, and wait for each other.
void require_alike(const Problem& problem, const Options& options, const Shard& all);

/// Throws Error on all ranks where `here` is not the same on all of them.
void require_same(const char* field, const std::string& here, const Shard& all);

/// Throws Error at what several processes cannot do together.
void require_one_process(const Options& options, const Shard& all);

}  // namespace remblai
