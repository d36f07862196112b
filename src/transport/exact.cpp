// Exact transport by LEMON's network simplex, on costs and weights rounded to integers.
#include "remblai/exact.h"

#include <fmt/format.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "base/memory.h"
#include "remblai/domain.h"
#include "remblai/error.h"

namespace remblai {
namespace {

using Integers = std::vector<std::int64_t>;

// Weights as multiples of 2^-50 that add up to 2^50; rounding goes to the largest weight. A
// positive weight keeps a unit, so that its point has a row in the plan.
Integers whole_weights(const Vector& weights) {
  constexpr std::int64_t total = std::int64_t{1} << 50;
  Integers whole(static_cast<std::size_t>(weights.size()));
  std::int64_t sum = 0;
  for (Index i = 0; i < weights.size(); ++i) {
    std::int64_t amount = std::llround(weights[i] * static_cast<double>(total));
    if (amount == 0 && weights[i] > 0) amount = 1;
    whole[static_cast<std::size_t>(i)] = amount;
    sum += amount;
  }
  *std::max_element(whole.begin(), whole.end()) += total - sum;
  return whole;
}

}  // namespace

void require_exact_memory(Index m, Index n, const Resources& resources) {
  constexpr double bytes_per_pair = 80;
  const double needed = bytes_per_pair * static_cast<double>(m) * static_cast<double>(n);
  const double free = available_memory();
  const bool budgeted = resources.memory > 0 && resources.memory_bytes() < free;
  const double there = budgeted ? resources.memory_bytes() : free;
  if (m <= std::numeric_limits<int>::max() / n && needed <= there) return;
  throw Error(
      {.field = "lambda",
       .value = "0",
       .problem = fmt::format("(exact transport) between {} and {} points needs {:.2g} GiB, more "
                              "than the {:.2g} GiB {}",
                              m, n, needed / 0x1p30, there / 0x1p30,
                              budgeted ? "that $memory allows" : "that are free"),
       .remedy = budgeted ? "give a larger $memory, a positive $lambda or fewer points"
                          : "give a positive $lambda or fewer points"});
}

ExactPlan exact_transport(const MatrixView& cost, const Vector& source_weights,
                          const Vector& target_weights) {
  const Index m = cost.rows(), n = cost.cols();
  if (source_weights.size() != m || target_weights.size() != n || m == 0 || n == 0)
    throw Error(
        fmt::format("cost: {} x {} for {} source and {} target weights; the sizes must agree", m, n,
                    source_weights.size(), target_weights.size()));
  require_finite(cost, "cost");
  require_exact_memory(m, n);
  const double most = cost.cwiseAbs().maxCoeff();
  if (most > 1e300)
    throw Error({.field = "cost",
                 .value = fmt::format("{:.1e}", most),
                 .problem = "is too large: differences of such costs overflow",
                 .remedy = "rescale the costs"});
  // Costs that rounding to integers would lose have another unit.
  if (most > 0 && most < 0x1p-960) {
    const auto back = [](double value) { return std::ldexp(value, -900); };
    ExactPlan plan = exact_transport(Matrix(cost * 0x1p+900), source_weights, target_weights);
    plan.f = plan.f.unaryExpr(back).eval();
    plan.g = plan.g.unaryExpr(back).eval();
    plan.cost = back(plan.cost);
    plan.gap = back(plan.gap);
    return plan;
  }
  const Domain sources{Matrix::Zero(m, 1), {}, source_weights};
  const Domain targets{Matrix::Zero(n, 1), {}, target_weights};
  sources.validate("source");
  targets.validate("target");
  const Vector p = sources.probabilities();
  const Vector q = targets.probabilities();

  // What is common to a row or a column does not matter to the plan, only to the potentials.
  const Vector row_least = cost.rowwise().minCoeff();
  Matrix rest = cost.colwise() - row_least;
  const Vector column_least = rest.colwise().minCoeff().transpose();
  rest.rowwise() -= column_least.transpose();
  const double largest = rest.maxCoeff();
  const double unit = largest > 0 ? std::ldexp(largest, -40) : 1;
  const double mass_unit = std::ldexp(1.0, -50);

  // Equal weights are exact as n units a source and m units a target.
  const bool uniform = (p.array() == p[0]).all() && (q.array() == q[0]).all();
  const Integers supply = uniform ? Integers(static_cast<std::size_t>(m), n) : whole_weights(p);
  const Integers demand = uniform ? Integers(static_cast<std::size_t>(n), m) : whole_weights(q);
  const double unit_mass =
      uniform ? 1 / (static_cast<double>(m) * static_cast<double>(n)) : mass_unit;

  using Graph = lemon::SmartDigraph;
  Graph graph;
  graph.reserveNode(static_cast<int>(m + n));
  graph.reserveArc(static_cast<int>(m * n));
  for (Index i = 0; i < m + n; ++i) graph.addNode();
  Graph::NodeMap<std::int64_t> balance(graph);
  for (Index i = 0; i < m; ++i)
    balance[graph.nodeFromId(static_cast<int>(i))] = supply[static_cast<std::size_t>(i)];
  for (Index j = 0; j < n; ++j)
    balance[graph.nodeFromId(static_cast<int>(m + j))] = -demand[static_cast<std::size_t>(j)];
  // Arcs are numbered in the order they are made: arc i n + j goes from i to j.
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j)
      graph.addArc(graph.nodeFromId(static_cast<int>(i)),
                   graph.nodeFromId(static_cast<int>(m + j)));
  Graph::ArcMap<std::int64_t> costs(graph);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j)
      costs[graph.arcFromId(static_cast<int>(i * n + j))] = std::llround(rest(i, j) / unit);

  lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t> simplex(graph);
  const auto outcome = simplex.supplyMap(balance).costMap(costs).run();
  if (outcome != simplex.OPTIMAL) throw std::logic_error("network simplex found no optimum");

  ExactPlan plan;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      const std::int64_t amount = simplex.flow(graph.arcFromId(static_cast<int>(i * n + j)));
      if (amount <= 0) continue;
      plan.masses.push_back({i, j, static_cast<double>(amount) * unit_mass});
      plan.cost += plan.masses.back().amount * cost(i, j);
    }
  }
  // LEMON's reduced cost of an arc is c + pi(source) - pi(target) >= 0.
  plan.f.resize(m);
  plan.g.resize(n);
  for (Index i = 0; i < m; ++i)
    plan.f[i] = row_least[i] - unit * static_cast<double>(
                                          simplex.potential(graph.nodeFromId(static_cast<int>(i))));
  for (Index j = 0; j < n; ++j)
    plan.g[j] =
        column_least[j] +
        unit * static_cast<double>(simplex.potential(graph.nodeFromId(static_cast<int>(m + j))));
  plan.gap = plan.cost - p.dot(plan.f) - q.dot(plan.g);
  if (plan.gap < 0) plan.gap = 0;  // NaN stays NaN
  return plan;
}

}  // namespace remblai
