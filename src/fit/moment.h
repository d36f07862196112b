// The second moment C of the displacements under a plan, without ever forming the plan's m n pairs.
#pragma once

#include "fit/space.h"

namespace remblai {

/// What a plan tells the metric step, in the coordinates of a Space.
struct PlanMoments {
  Matrix plan_z;         ///< G Z, m x r
  Vector rows, columns;  ///< the marginals it really has
};

/// C = X'diag(r)X + Z'diag(s)Z - (X'GZ + its transpose), r x r. With the marginals the plan really
/// has C is positive semidefinite up to rounding even when the plan is not tight. O((m + n) r^2).
Matrix second_moment(const Space& space, const PlanMoments& plan);

/// Where the alternation starts: p q', or for a seed other than 0 p_i q_j (1 + u_i v_j) with random
/// u and v of mean zero and |u_i v_j| <= 1, which has the same marginals.
PlanMoments first_plan(const Space& space, int seed);

}  // namespace remblai
