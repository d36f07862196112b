// Problems for ranks, and the part of each.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>

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

// The model that `ranks` ranks end in when they go on with a fit of three, which ended after
// `steps` steps. `path` is where its checkpoint is. Other options must not go on from there.
inline Model stopped_and_resumed(const Data& given, int steps, int ranks, const std::string& path) {
  std::remove(path.c_str());
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const auto stop = [&](const Progress& progress) {
      return !progress.record || progress.step < steps;
    };
    fit(part_of(given.problem, *comm), options, stop, nullptr, {.path = path});
  });
  Model whole;
  run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
    Options options = given.options;
    options.resources.comm = comm;
    const Checkpoint checkpoint{.path = path, .resume = true};
    const Problem part = part_of(given.problem, *comm);
    std::size_t made = 0;
    const auto count = [&](const Progress& progress) {
      made += progress.record != nullptr;
      return true;
    };
    const Model model = gathered(fit(part, options, count, nullptr, checkpoint));
    EXPECT_LT(made, model.history.size()) << "it began anew";
    options.lambda = 0.7;
    EXPECT_THROW(fit(part, options, {}, nullptr, checkpoint), Error);
    if (comm->rank() == 0) whole = model;
  });
  std::remove(path.c_str());
  return whole;
}

}  // namespace remblai
