// Moments of a plan: one product with the points on either side gives all that the method needs.
#include "fit/moment.h"

#include <random>

#include "base/linalg.h"

namespace remblai {

Matrix second_moment(const Matrix& x, const Matrix& z, const PlanMoments& plan) {
  // One product makes X'diag(r)X - 2 X'GZ. Only its symmetric part belongs to C.
  const Matrix rows = plan.rows.asDiagonal() * x - 2 * plan.plan_z;
  const Matrix half = linalg::multiply(x, rows, linalg::Op::transpose);
  Matrix c = linalg::gram(plan.columns.cwiseSqrt().asDiagonal() * z);
  c += 0.5 * (half + half.transpose());
  return c;
}

PlanMoments first_plan(const Space& space, int seed) {
  PlanMoments plan{space.p * (space.q.transpose() * space.z), space.p, space.q};
  if (seed == 0) return plan;
  std::mt19937_64 generator(static_cast<std::uint64_t>(seed));
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto perturbation = [&](const Vector& weights) {
    Vector u(weights.size());
    for (double& value : u) value = uniform(generator);
    u.array() -= weights.dot(u);
    const double largest = u.cwiseAbs().maxCoeff();
    return largest > 0 ? Vector(weights.cwiseProduct(u) / largest) : u;
  };
  const Vector u = perturbation(space.p);
  const Vector v = perturbation(space.q);
  plan.plan_z += u * (v.transpose() * space.z);
  return plan;
}

}  // namespace remblai
