// Problems for ranks, and the part of each.
#pragma once

#include <random>

#include "ranks/thread_ranks.h"
#include "remblai/error.h"
#include "remblai/fit.h"

namespace remblai {

struct Data {
  Problem problem;
  Options options;
};

inline Matrix normal_points(Index rows, Index columns, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Matrix points(rows, columns);
  for (double& value : points.reshaped()) value = normal(generator);
  return points;
}

inline Data data(Index m, Index n, Index d) {
  Data out;
  out.problem.source.points = normal_points(m, d, 1);
  out.problem.target.points = normal_points(n, d, 2) * 1.5;
  out.problem.target.points.col(0).array() += 1;
  out.problem.source.labels.resize(m);
  for (Index i = 0; i < m; ++i) out.problem.source.labels[i] = i % 3;
  out.options.resources.threads = 1;
  out.options.steps = 6;
  return out;
}

// The rows of a rank: those that share_of gives it among the points of positive weight, with the
// others that stand before the share of the next.
inline Problem part_of(const Problem& whole, const Comm& comm) {
  const Domain& source = whole.source;
  const std::vector<Index> used = positive_entries(source.probabilities());
  const auto count = static_cast<Index>(used.size());
  const auto place = [&](Index k, int rank) {
    if (rank == 0) return Index{0};
    return k == count || rank == comm.size() ? source.size() : used[static_cast<std::size_t>(k)];
  };
  const auto [first, last] = share_of(count, comm.rank(), comm.size());
  const Index begin = place(first, comm.rank()), end = place(last, comm.rank() + 1);
  Problem part = whole;
  part.source.points = source.points.middleRows(begin, end - begin);
  part.source.labels = source.labels.segment(begin, end - begin);
  if (source.weights.size() > 0) part.source.weights = source.weights.segment(begin, end - begin);
  return part;
}

}  // namespace remblai
