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

/// An optimal plan and a dual that proves it.
struct ExactPlan {
  std::vector<Mass> masses;  ///< at most m + n - 1, ordered by source, then target
  Vector f, g;               ///< optimal dual: f_i + g_j <= c_ij, with equality where mass moves
  double cost = 0;           ///< <G, c>
  double gap = 0;            ///< cost - <p, f> - <q, g>, at most about 1e-10 of the largest cost
};

/// Throws Error when an exact plan between m and n points needs more memory than there is, or than
/// the resources allow. It allocates nothing itself.
REMBLAI_API void require_exact_memory(Index m, Index n, const Resources& resources = {});

/// The cheapest plan with these marginals. Weights are as in a Domain: not negative, and divided by
/// their sum here. The method is exact on integers only. Therefore costs, less what is common to a
/// row or a column, are rounded to 2^-40 of the largest one, and weights to multiples of 2^-50, of
/// which a positive weight keeps at least one. Throws Error for costs above 1e300, whose
/// differences overflow, and where the memory is too small. O(m n) memory. The call cannot be
/// stopped on the way.
REMBLAI_API ExactPlan exact_transport(const MatrixView& cost, const Vector& source_weights,
                                      const Vector& target_weights);

}  // namespace remblai
