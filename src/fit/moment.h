// The second moment C of the displacements under a plan. It is made from products with the points,
// and the displacements of the m n pairs are never formed.
#pragma once

#include "fit/space.h"

namespace remblai {

/// What a plan tells the metric step, in the coordinates of a Space.
struct PlanMoments {
  Matrix plan_z;         ///< G Z, m x r
  Vector rows, columns;  ///< the sums that the plan really has
};

/// C = X'diag(r)X + Z'diag(s)Z - (X'GZ + its transpose), with r and s the sums of rows and columns.
/// These are the sums that the plan really has, so C is positive semidefinite up to rounding even
/// when the plan is not tight or a side is relaxed. For a rank k: k x k, O((m + n) k^2). `shard` is
/// of the rows of x, and `targets` of those of z.
Matrix second_moment(const Matrix& x, const Matrix& z, const PlanMoments& plan,
                     const Shard& shard = {}, const Shard& targets = {});

/// sum_i w_i x_i over the rows of all processes.
Vector weighted_mean(const Matrix& points, const Vector& weights, const Shard& shard);

/// sum_i w_i |x_i - mean|^2, the mean being the weighted one.
double spread_around_mean(const Matrix& points, const Vector& weights, const Shard& shard);

/// The plan where the alternation starts. For the seed 0 it is p q'. For another seed it is
/// p_i q_j (1 + u_i v_j) with random u and v of mean zero and |u_i v_j| <= 1, which has the same
/// marginals.
PlanMoments first_plan(const Space& space, int seed);

}  // namespace remblai
