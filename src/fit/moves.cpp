// Means of displacements, shrunk.
#include "fit/moves.h"

#include <algorithm>

namespace remblai {

Moves class_moves(const ClassProblem& problem, const Matrix& displacements, const Vector& shares,
                  const Vector& belief, double noise, const MetricLearner& metric) {
  const Matrix mean = problem.class_means(displacements);
  const Vector credit = (2 * belief).cwiseMin(1.0);
  const double believed = shares.dot(credit);
  const Vector voices =
      believed > 0 ? Vector(shares.cwiseProduct(credit) / believed) : Vector(0 * shares);
  const Matrix common = voices.transpose() * mean;
  const Matrix rest = mean.rowwise() - common.row(0);
  const double n = problem.target_count;
  const auto kept = [noise](double variance, double squared_length) {
    return std::max(0.0, 1 - noise * variance / std::max(squared_length, 1e-300));
  };
  Moves moves;
  moves.common_trust = kept(voices.cwiseAbs2().cwiseQuotient(problem.counts).sum() + 1 / n,
                            metric.embed(common).squaredNorm());
  const Vector lengths = metric.embed(rest).rowwise().squaredNorm();
  moves.trust.resize(lengths.size());
  for (Index k = 0; k < lengths.size(); ++k)
    moves.trust[k] =
        credit[k] * kept(1 / problem.counts[k] + 1 / std::max(n * shares[k], 1e-3), lengths[k]);
  moves.by_class = moves.trust.asDiagonal() * rest;
  moves.by_class.rowwise() += moves.common_trust * common.row(0);
  return moves;
}

}  // namespace remblai
