// Sizes into bytes and seconds. Counts of copies and operations are those of the code that runs.
#include "remblai/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/linalg.h"
#include "base/memory.h"
#include "fit/clouds.h"
#include "fit/kernel_ridge.h"
#include "remblai/comm.h"
#include "remblai/devices.h"
#include "remblai/error.h"
#include "remblai/threads.h"
#include "remblai/transport.h"

namespace remblai {
namespace {

/// Of this process, of `ranks` in all and `here` on this machine that have about as much each.
struct Sizes {
  double m, n, d, rank, pairs;
  double ranks = 1, here = 1;
  double points() const { return m * ranks + n; }
};

Sizes sizes_of(const Problem& problem, const Options& options) {
  const auto m = static_cast<double>(problem.source.size());
  const auto n = static_cast<double>(problem.target.size());
  const auto d = static_cast<double>(problem.source.dimension());
  Sizes sizes{m, n, d, std::min(d, m + n), m * n};
  if (const Comm* comm = options.resources.comm.get()) {
    sizes.ranks = comm->size();
    sizes.here = comm->ranks_here();
    sizes.rank = std::min(d, sizes.points());
  }
  return sizes;
}

double entry_bytes(const Options& options) {
  return options.resources.precision == Precision::float32 ? 4 : 8;
}

/// Costs, plan and a copy of it in float, while they fit the budget.
bool keeps_pairs(const Sizes& sizes, const Options& options, double budget) {
  return (2 * entry_bytes(options) + 4) * sizes.pairs <= budget;
}

/// Distances that the parts of a judgement share, while they fit the budget of one process.
double cloud_bytes(const Sizes& sizes, double budget) {
  const double points = sizes.points(), bytes = measured_bytes(points);
  const bool kept = points <= static_cast<double>(most_measured) && bytes <= budget;
  return kept && sizes.ranks == 1 ? bytes : 0;
}

/// As ClassStep has them.
double landmarks_of(const Sizes& sizes, const Options& options) {
  const int wanted = options.classes.landmarks;
  if (options.resources.memory == 0) return wanted;
  return landmarks_within(options.resources.memory_bytes(), wanted, sizes.points());
}

double system_bytes(const Sizes& sizes, const Options& options) {
  const double most = landmarks_of(sizes, options), points = sizes.points();
  return points <= most ? exact_bytes(points) : landmark_bytes(most, points);
}

/// Bytes at the peak, by what they are for.
struct Bytes {
  double points;   // as given, preprocessed, in the coordinates of the span, embedded
  double metric;   // matrices of the metric step
  double exact;    // the graph of exact transport
  double pairs;    // if they are kept
  double clouds;   // distances of the classifiers, if they are kept
  double systems;  // of the classifiers
  /// The largest systems, of all points together, come when the distances are gone.
  double all() const { return points + metric + exact + pairs + std::max(clouds, systems); }
};

/// Of one rank.
Bytes bytes_of(const Sizes& sizes, const Options& options, double free) {
  const double budget = memory_budget(options.resources, free / sizes.here);
  const bool classes = options.method == Method::class_aware;
  return {4 * 8 * (sizes.m + sizes.n) * sizes.d,
          options.metric == MetricChoice::learned ? 8 * 8 * sizes.rank * sizes.rank : 0,
          options.lambda == 0 ? 80 * sizes.pairs : 0,
          keeps_pairs(sizes, options, budget) ? (2 * entry_bytes(options) + 4) * sizes.pairs : 0,
          classes ? cloud_bytes(sizes, budget) : 0,
          classes ? system_bytes(sizes, options) : 0};
}

/// "a, b or c", of the first three.
std::string some_of(std::vector<std::string> ways) {
  ways.resize(std::min<std::size_t>(ways.size(), 3));
  const std::string last = ways.back();
  ways.pop_back();
  return ways.empty() ? last : fmt::format("{} or {}", fmt::join(ways, ", "), last);
}

/// What makes the largest parts smaller.
std::string what_saves_memory(const Bytes& bytes, const Options& options) {
  const double much = bytes.all() / 10;
  std::vector<std::string> ways;
  if (bytes.exact > much) ways.emplace_back("a positive $lambda");
  if (bytes.pairs + bytes.clouds > much) ways.emplace_back("a smaller $memory");
  if (bytes.systems > much) ways.emplace_back("a smaller $landmarks");
  if (bytes.pairs > much && options.resources.precision != Precision::float32)
    ways.emplace_back("$precision float");
  ways.emplace_back("fewer points");
  ways.emplace_back("fewer features");
  return some_of(std::move(ways));
}

/// What makes passes faster, or fewer; options that have done all they can are left out.
std::string what_saves_time(const Options& options, const Estimate& needs) {
  std::vector<std::string> ways;
  if (options.resources.precision != Precision::float32) ways.emplace_back("$precision float");
  if (options.resources.device == Device::cpu && !gpus().empty()) ways.emplace_back("$device cuda");
  if (needs.passes > 24) ways.emplace_back("a larger $lambda");
  if (needs.steps > 10) ways.emplace_back("fewer $steps");
  ways.emplace_back("fewer points");
  if (!needs.stored) ways.emplace_back("a larger $memory");
  return some_of(std::move(ways));
}

Matrix some_points(const Matrix& points, Index most) {
  return points.topRows(std::min(points.rows(), most));
}

/// Seconds of one pass for each pair, from a tile that is treated as the whole will be.
double seconds_of_a_pair(const Problem& problem, const Options& options, bool stored) {
  constexpr Index tile = 768;
  const Matrix z = some_points(problem.target.points, tile);
  const bool none = problem.source.size() == 0;  // a rank may have no points
  const Matrix x = none ? z : some_points(problem.source.points, tile);
  Resources resources = options.resources;
  resources.device = Device::cpu;
  resources.comm = nullptr;  // the tile is that of this process alone
  if (!stored) resources.memory = 1e-3;
  Transport transport(Vector::Constant(x.rows(), 1 / static_cast<double>(x.rows())),
                      Vector::Constant(z.rows(), 1 / static_cast<double>(z.rows())), resources);
  transport.set_points(x, z);
  const double spread = (x.rowwise() - x.colwise().mean()).rowwise().squaredNorm().mean() +
                        (z.rowwise() - z.colwise().mean()).rowwise().squaredNorm().mean();
  TransportOptions solve;
  solve.solver = SolverChoice::sinkhorn;
  solve.tolerance = 1e-300;
  solve.max_passes = 12;
  const auto start = std::chrono::steady_clock::now();
  const TransportResult result = transport.solve(spread > 0 ? 0.1 * spread : 1, solve);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / std::max(1, result.passes) / static_cast<double>(x.rows() * z.rows());
}

/// Seconds of a multiplication and an addition in a product of matrices.
double seconds_of_an_operation() {
  constexpr Index size = 384;
  const Matrix a = Matrix::Constant(size, size, 0.5);
  const auto start = std::chrono::steady_clock::now();
  const Matrix product = linalg::multiply(a, a);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / std::pow(static_cast<double>(size), 3) * (product(0, 0) > 0 ? 1 : 2);
}

}  // namespace

Estimate estimate(const Problem& problem, const Options& asked) {
  const Options options = asked.resolved();
  options.validate();
  problem.source.validate("source", options.resources.comm != nullptr);
  problem.target.validate("target");
  const linalg::Threads scope(thread_count(options.resources.threads));
  const Sizes sizes = sizes_of(problem, options);
  Estimate out;
  out.available = available_memory();
  const Bytes bytes = bytes_of(sizes, options, out.available);
  out.stored = bytes.pairs > 0;
  out.memory = sizes.here * bytes.all();
  out.pass_seconds = sizes.pairs * seconds_of_a_pair(problem, options, out.stored);
  // About as many as benchmarks show between lambda = 1 and 0.001 times the mean cost.
  const double lambda = options.lambda_unit == Unit::relative ? options.lambda : 0.05;
  out.passes = static_cast<int>(20 + 4 / std::max(lambda, 1e-3));
  const bool learns = options.metric == MetricChoice::learned;
  const bool classes = options.method == Method::class_aware;
  out.steps = learns || classes ? options.steps : 1;
  const double operation = seconds_of_an_operation();
  const double support = std::min(sizes.points(), landmarks_of(sizes, options));
  // An eigen-decomposition and products; three systems, with their candidates.
  const double metric = learns ? 15 * std::pow(sizes.rank, 3) + sizes.pairs * sizes.rank : 0;
  const double systems =
      classes ? 6 * (std::pow(support, 3) + (sizes.m + sizes.n) * support * support) : 0;
  out.step_seconds = out.passes * out.pass_seconds + operation * (metric + systems);
  out.faster = what_saves_time(options, out);
  return out;
}

void require_reach(const Problem& problem, const Options& asked) {
  const Options options = asked.resolved();
  const Sizes sizes = sizes_of(problem, options);
  const double free = available_memory();
  const Bytes needed = bytes_of(sizes, options, free);
  const double all = sizes.here * needed.all();
  if (all <= free) return;
  throw Error({.field = "source and target",
               .value = fmt::format("{} x {} points of {} coordinates", sizes.m, sizes.n, sizes.d),
               .problem = fmt::format("need about {:.2g} GiB, {:.2g} GiB are free", all / 0x1p30,
                                      free / 0x1p30),
               .remedy = "give " + what_saves_memory(needed, options)});
}

}  // namespace remblai
