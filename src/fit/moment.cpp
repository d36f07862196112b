// Moments of a plan: one product with the points on either side gives all that the method needs.
#include "fit/moment.h"

#include <random>

#include "base/linalg.h"

namespace remblai {

Matrix second_moment(const Matrix& x, const Matrix& z, const PlanMoments& plan, const Shard& shard,
                     const Shard& targets) {
  const Index k = x.cols();
  // One product makes X'diag(r)X - 2 X'GZ. Only its symmetric part belongs to C.
  const auto fill = [&](Rows rows, Eigen::Ref<Matrix> to) {
    const Index count = rows.end - rows.begin;
    to = plan.rows.segment(rows.begin, count).asDiagonal() * x.middleRows(rows.begin, count) -
         2 * plan.plan_z.middleRows(rows.begin, count);
  };
  const auto product = [&](Rows part) {
    const Index count = part.end - part.begin;
    if (!shard.divided()) return linalg::transpose_times_made(x, k, fill);
    Matrix rows(count, k);
    fill(part, rows);
    return linalg::multiply(x.middleRows(part.begin, count), rows, linalg::Op::transpose);
  };
  const Matrix half = shard.sum(x.rows(), k, k, product);
  const Vector roots = plan.columns.segment(targets.first(), z.rows()).cwiseSqrt();
  Matrix c = targets.sum(z.rows(), k, k, [&](Rows part) {
    return linalg::gram_of_made(part.end - part.begin, k, [&](Rows some, Eigen::Ref<Matrix> to) {
      const Index first = part.begin + some.begin, count = some.end - some.begin;
      to = roots.segment(first, count).asDiagonal() * z.middleRows(first, count);
    });
  });
  c += 0.5 * (half + half.transpose());
  return c;
}

Vector weighted_mean(const Matrix& points, const Vector& weights, const Shard& shard) {
  return shard.sum(points.rows(), points.cols(), [&](Rows rows) -> Vector {
    const Index count = rows.end - rows.begin;
    Matrix parts(piece_count(count), points.cols());
    linalg::for_rows(count, points.cols(), [&](Index k, Rows some) {
      const Index first = rows.begin + some.begin, size = some.end - some.begin;
      parts.row(k) = weights.segment(first, size).transpose() * points.middleRows(first, size);
    });
    return parts.colwise().sum().transpose();
  });
}

double spread_around_mean(const Matrix& points, const Vector& weights, const Shard& shard) {
  const Vector mean = weighted_mean(points, weights, shard);
  return shard.dot(weights, (points.rowwise() - mean.transpose()).rowwise().squaredNorm());
}

PlanMoments first_plan(const Space& space, int seed) {
  const auto times_z = [&](const Vector& weights) -> Eigen::RowVectorXd {
    return weighted_mean(space.z, weights.segment(space.targets.first(), space.z.rows()),
                         space.targets);
  };
  PlanMoments plan{space.p * times_z(space.q), space.p, space.q};
  if (seed == 0) return plan;
  std::mt19937_64 generator(static_cast<std::uint64_t>(seed));
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto perturbation = [&](const Vector& weights, const Shard& shard) {
    Vector u(weights.size());
    // Every process draws for all rows and keeps its own.
    const Index total = shard.total(u.size());
    for (Index i = 0; i < total; ++i) {
      const double value = uniform(generator);
      if (i >= shard.first() && i < shard.first() + u.size()) u[i - shard.first()] = value;
    }
    u.array() -= shard.dot(weights, u);
    const double largest = shard.largest(u.cwiseAbs());
    return largest > 0 ? Vector(weights.cwiseProduct(u) / largest) : u;
  };
  const Vector u = perturbation(space.p, space.shard);
  const Vector v = perturbation(space.q, {});
  plan.plan_z += u * times_z(v);
  return plan;
}

}  // namespace remblai
