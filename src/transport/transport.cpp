// The public face of kernel, rules and solver.
#include "remblai/transport.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/linalg.h"
#include "remblai/domain.h"
#include "remblai/error.h"
#include "remblai/threads.h"
#include "transport/cuda/matrix_on_gpu.h"
#include "transport/solver.h"

namespace remblai {
namespace {

// A penalty so high that rounding hides what it allows is a condition.
Marginal rule(const Vector& weights, double tau, double lambda, const Shard& shard) {
  const bool as_good_as_exact = tau > 1e12 * lambda && std::abs(shard.sum(weights) - 1) < 1e-9;
  if (tau == 0 || as_good_as_exact) return Marginal::exact(weights, shard);
  return Marginal::relaxed(weights, tau, shard);
}

void require_relaxation(const char* field, double tau, double lambda) {
  if (tau > 0 && tau < 1e-8 * lambda)
    throw Error({.field = field,
                 .value = fmt::format("{:.1e}", tau),
                 .problem = fmt::format("is too small beside lambda ({:.1e}), both in units of the "
                                        "cost",
                                        lambda),
                 .remedy = "give a larger one, or 0 for exact sums"});
  if (!(tau >= 0 && std::isfinite(tau)))
    throw Error({.field = field,
                 .value = fmt::format("{}", tau),
                 .problem = "is out of range",
                 .remedy = "give a finite number, 0 or more (0: the sums are exact)"});
}

void require_weights(const Vector& weights, Precision precision, const Shard& shard) {
  const double smallest = shard.smallest(weights);
  if (shard.total(weights.size()) == 0 || !(smallest > 0) || !std::isfinite(shard.sum(weights)))
    throw Error({.field = "weights",
                 .problem = "not all are positive and finite",
                 .remedy = "the function transport() takes weights of zero too, but for costs that "
                           "are on a GPU: leave such points out"});
  const bool in_float = precision == Precision::float32;
  if (smallest < (in_float ? 1e-20 : 1e-300))
    throw Error(
        {.field = "weights",
         .value = fmt::format("{:.1e}", smallest),
         .problem = fmt::format("is a weight too small for {}", in_float ? "float" : "double"),
         .remedy = in_float ? "give the $precision double, or leave that point out"
                            : "leave that point out"});
}

// Points that costs can be made of.
void require_points(const Matrix& x, const Matrix& z, const Shard& shard,
                    const Shard& targets = {}) {
  if (x.cols() != z.cols() || shard.total(x.rows()) == 0 || targets.total(z.rows()) == 0)
    throw Error(
        {.field = "points",
         .value = fmt::format("{} x {} and {} x {}", x.rows(), x.cols(), z.rows(), z.cols()),
         .problem = "do not fit together",
         .remedy = "both sides need points of the same number of coordinates"});
  require_finite(x, "points");
  require_finite(z, "points");
}

}  // namespace

struct REMBLAI_LOCAL Transport::State {
  Vector p, q;
  Shard shard;  // of the rows
  Resources resources;
  std::unique_ptr<Kernel> kernel;
  GroundCost cost;
  bool has_cost = false, has_plan = false;
  Potentials potentials;
  Vector start;  // potentials g for the next solve; empty: those of the last
  Kernel::Sums sums;

  Shard targets(const Matrix& rows, bool shares) const {
    return shares ? shard.with_rows(rows.rows()) : Shard();
  }
  void use(GroundCost next);
  GroundCost released() {  // the cost at hand, which is not needed any more
    has_plan = has_cost = false;
    return std::move(cost);
  }
};

Transport::Transport(Vector p, Vector q, const Resources& resources)
    : state_(std::make_unique<State>()) {
  resources.validate();
  state_->shard = Shard(resources.comm, p.size());
  require_weights(p, resources.precision, state_->shard);
  require_weights(q, resources.precision, {});
  state_->p = std::move(p);
  state_->q = std::move(q);
  state_->resources = resources;
  state_->resources.threads = thread_count(resources);
  const bool gpu = resources.device != Device::cpu && resources.device != Device::automatic;
  if (state_->shard.any(gpu && state_->p.size() == 0))
    throw Error({.field = "device",
                 .problem = "a GPU needs points on every rank, and one has none",
                 .remedy = "start fewer ranks, or give the $device cpu"});
  state_->shard.agree(
      [&] { state_->kernel = make_kernel(state_->resources, state_->p.size(), state_->q.size()); });
}

Transport::~Transport() = default;
Transport::Transport(Transport&&) noexcept = default;
Transport& Transport::operator=(Transport&&) noexcept = default;

void Transport::State::use(GroundCost next) {
  has_plan = has_cost = false;
  if (next.rows() != p.size() || next.columns() != q.size())
    throw Error({.field = "cost",
                 .value = fmt::format("{} x {}", next.rows(), next.columns()),
                 .problem = fmt::format("for {} source and {} target weights", p.size(), q.size()),
                 .remedy = "the sizes must agree"});
  if (!std::isfinite(next.range()))
    throw Error({.field = "cost",
                 .problem = "the distances are too large for double precision",
                 .remedy = "rescale the points"});
  const linalg::Threads scope(resources.threads);
  cost = std::move(next);
  if (cost.targets().divided() && !kernel->takes_shares(cost)) cost.unite_targets();
  bool too_small = false;
  shard.agree([&] {
    try {
      kernel->use(cost);
    } catch (const Error&) {  // a GPU that was taken without being asked for may be too small
      if (resources.device != Device::automatic) throw;
      too_small = true;
    }
  });
  if (shard.any(too_small)) {
    resources.device = Device::cpu;
    kernel = make_kernel(resources, cost.rows(), cost.columns());
    shard.agree([&] { kernel->use(cost); });
  }
  // What a kernel answers by itself needs no second set of factors.
  if (kernel->has_factors()) cost.drop_factors();
  has_cost = true;
}

void Transport::set_source_weights(Vector p) {
  require_weights(p, state_->resources.precision, state_->shard);
  if (p.size() != state_->p.size())
    throw Error({.field = "weights",
                 .value = fmt::format("{} weights", p.size()),
                 .problem = fmt::format("for {} source points", state_->p.size()),
                 .remedy = "the sizes must agree"});
  state_->p = std::move(p);
}

void Transport::set_points(const Matrix& x, const Matrix& z) {
  state_->shard.agree([&] { require_points(x, z, state_->shard); });
  state_->use(GroundCost::between_points(x, z, state_->shard, state_->released()));
}

void Transport::take_points(PointPair points, bool shares) {
  const Shard targets = state_->targets(points.second, shares);
  state_->shard.agree([&] { require_points(points.first, points.second, state_->shard, targets); });
  state_->released();
  state_->use(GroundCost::between_points(std::move(points), state_->shard, targets));
}

PointPair Transport::released_points() {
  state_->kernel->rest();
  return state_->released().factors();
}

void Transport::set_points(const Matrix& x, const Matrix& z, const Matrix& left,
                           const Matrix& right) {
  state_->shard.agree([&] {
    require_points(x, z, state_->shard);
    if (left.rows() != x.rows() || right.rows() != z.rows() || left.cols() != right.cols())
      throw Error({.field = "terms",
                   .value = fmt::format("{} x {} and {} x {}", left.rows(), left.cols(),
                                        right.rows(), right.cols()),
                   .problem = fmt::format("for {} source and {} target points", x.rows(), z.rows()),
                   .remedy = "give one row a point, and as many columns on both sides"});
    require_finite(left, "terms");
    require_finite(right, "terms");
  });
  GroundCost cost = GroundCost::between_points(x, z, state_->shard, state_->released());
  cost.add_terms(left, right);
  state_->use(std::move(cost));
}

void Transport::set_cost(Matrix cost) {
  state_->shard.agree([&] { require_finite(cost, "cost"); });
  state_->use(GroundCost::dense(std::move(cost), state_->shard));
}

void Transport::set_cost(const MatrixOnGpu& cost) {
  const auto [smallest, largest] = extremes_of(cost);
  if (!std::isfinite(smallest) || !std::isfinite(largest))
    throw Error({.field = "cost",
                 .problem = "not all entries are finite",
                 .remedy = "leave out the points whose costs are NaN or infinite"});
  const Device device = state_->resources.device;
  const int gpu = static_cast<int>(device) - static_cast<int>(Device::cuda);
  if (gpu != cost.gpu || state_->shard.divided())
    throw Error({.field = "cost",
                 .value = fmt::format("a matrix on GPU {}", cost.gpu),
                 .problem = "is not where the problem is solved",
                 .remedy = "give that GPU as $device, in one process"});
  state_->use(GroundCost::dense(cost, smallest, largest));
}

void Transport::start_from(Vector g) {
  if (g.size() != state_->q.size())
    throw Error({.field = "start",
                 .value = fmt::format("{} potentials", g.size()),
                 .problem = fmt::format("for {} target weights", state_->q.size()),
                 .remedy = "the sizes must agree"});
  require_finite(g, "start");
  state_->start = std::move(g);
}

TransportResult Transport::solve(double lambda, const TransportOptions& options) {
  State& s = *state_;
  if (!(lambda > 0 && std::isfinite(lambda)))
    throw Error({.field = "lambda",
                 .value = fmt::format("{}", lambda),
                 .problem = "is not a positive finite number",
                 .remedy = "for 0 use exact_transport"});
  if (!(options.tolerance > 0))
    throw Error({.field = "tolerance",
                 .value = fmt::format("{}", options.tolerance),
                 .problem = "is not positive",
                 .remedy = "give a positive number"});
  require_relaxation("relax-source", options.relax_source, lambda);
  require_relaxation("relax-target", options.relax_target, lambda);
  const bool balanced = options.relax_source == 0 && options.relax_target == 0;
  for (const double sum : {s.shard.sum(s.p), s.q.sum()})
    if (balanced && !(std::abs(sum - 1) < 1e-9))
      throw Error({.field = "weights",
                   .value = fmt::format("sum {}", sum),
                   .problem = "is not 1",
                   .remedy = "divide them by it, or relax one side ($relax-source)"});
  if (!s.has_cost)
    throw Error({.field = "cost",
                 .problem = "none was set",
                 .remedy = "call set_cost or set_points before solve"});
  if (options.max_passes < 1)
    throw Error({.field = "max_passes",
                 .value = fmt::format("{}", options.max_passes),
                 .problem = "is less than 1",
                 .remedy = "give 1 or more"});
  // Floats hold a cost to some 1e-8 of the largest. Far beyond that nothing of the others is left.
  constexpr double most = 1e14;
  if (s.resources.precision == Precision::float32 && !(s.cost.range() <= most * lambda))
    throw Error({.field = "lambda",
                 .value = fmt::format("{:.1e}", lambda),
                 .problem = fmt::format("is too small for float beside costs that differ by {:.1e}",
                                        s.cost.range()),
                 .remedy = "give the $precision double, or a larger $lambda"});
  const linalg::Threads scope(s.resources.threads);
  if (s.start.size() > 0) s.potentials.g = std::exchange(s.start, {});
  s.has_plan = false;  // until this solve has one, whatever a callback throws
  Solved solved =
      find_potentials(*s.kernel, s.cost, rule(s.p, options.relax_source, lambda, s.shard),
                      rule(s.q, options.relax_target, lambda, {}), lambda, options, s.potentials);
  s.sums = std::move(solved.sums);
  s.has_plan = solved.has_plan;
  return solved.result;
}

const Vector& Transport::f() const {
  return state_->potentials.f;
}
const Vector& Transport::g() const {
  return state_->potentials.g;
}
const Vector& Transport::source_marginal() const {
  return state_->sums.rows;
}
const Vector& Transport::target_marginal() const {
  return state_->sums.columns;
}

Matrix Transport::plan_times(const Matrix& y, bool shares) const {
  if (!state_->has_plan)
    throw Error(Message{.field = "plan", .problem = "there is none before solve"});
  const linalg::Threads scope(state_->resources.threads);
  const Shard targets = state_->targets(y, shares);
  return targets.divided() ? state_->kernel->times_shares(y, targets) : state_->kernel->times(y);
}

Matrix Transport::transposed_plan_times(const Matrix& y) const {
  if (!state_->has_plan)
    throw Error(Message{.field = "plan", .problem = "there is none before solve"});
  const linalg::Threads scope(state_->resources.threads);
  Matrix product(state_->q.size(), y.cols());
  for (Index k = 0; k < y.cols(); ++k) product.col(k) = state_->kernel->transpose_times(y.col(k));
  return product;
}

Matrix Transport::plan() const {
  if (!state_->has_plan)
    throw Error(Message{.field = "plan", .problem = "there is none before solve"});
  return state_->kernel->matrix();
}

MatrixOnGpu Transport::plan_on_gpu() const {
  if (!state_->has_plan)
    throw Error(Message{.field = "plan", .problem = "there is none before solve"});
  MatrixOnGpu plan = state_->kernel->matrix_on_gpu();
  if (!plan.data)
    throw Error({.field = "device",
                 .problem = "the plan is not on a GPU",
                 .remedy = "give a GPU as $device, in one process"});
  return plan;
}

}  // namespace remblai
