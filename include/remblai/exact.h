// Exact transport (lambda = 0) by the network simplex method.
#pragma once

#include <vector>

#include "remblai/api.h"
#include "remblai/resources.h"
#include "remblai/types.h"

namespace remblai {

/// One entry of a sparse plan.
struct Mass {
  Index source = 0;
  Index target = 0;
  double amount = 0;
};

struct ExactPlan {
  std::vector<Mass> masses;  ///< at most m + n - 1, ordered by source, then target
  Vector f, g;               ///< optimal dual: f_i + g_j <= c_ij, with equality where mass moves
  double cost = 0;           ///< <G, c>
  double gap = 0;            ///< cost - <p, f> - <q, g>, at most about 1e-10 of the largest cost
};

/// Throws Error when an exact plan between m and n points needs more memory than there is, or than
/// the resources allow. Allocates nothing.
REMBLAI_API void require_exact_memory(Index m, Index n, const Resources& resources = {});

/// Weights as in a Domain: not negative, normalised here. Costs, less what is common to a row or a
/// column, are rounded to 2^-40 of the largest one and weights to 2^-50 (a positive one to no
/// less), because the method is exact on integers only. O(m n) memory. Cannot be stopped on the
/// way.
REMBLAI_API ExactPlan exact_transport(const MatrixView& cost, const Vector& source_weights,
                                      const Vector& target_weights);

}  // namespace remblai
