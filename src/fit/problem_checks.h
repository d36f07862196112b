// Checks of a problem and its options, among all ranks.
#pragma once

#include "base/shard.h"
#include "remblai/domain.h"
#include "remblai/options.h"

namespace remblai {

/// Throws Error when domains, options, features or known labels do not fit together.
void require_usable(const Problem& problem, const Options& options, const Shard& all);

/// What each rank has of the probabilities of all source points.
Vector probabilities_of(const Domain& source, const Shard& all);

/// Throws Error at what several processes cannot do together.
void require_one_process(const Options& options, const Shard& all);

}  // namespace remblai
