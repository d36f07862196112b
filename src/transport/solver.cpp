// The stages of one solve, and how each is reached.
#include "transport/solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>

#include "transport/anderson.h"
#include "transport/certificate.h"
#include "transport/newton.h"
#include "transport/scaling.h"

namespace remblai {
namespace {

class Solve {
 public:
  Solve(Kernel& kernel, const Marginal& rows, const Marginal& columns,
        const TransportOptions& options)
      : kernel_(kernel),
        rows_(rows),
        options_(options),
        scaling_(kernel, rows, columns),
        newton_(kernel, rows, columns, [this] { return may_go_on(); }) {}

  /// True when the tolerance was reached.
  bool run(double lambda, double range, Potentials& potentials);

  int newton_steps() const { return newton_.steps(); }
  bool stopped() const { return stopped_; }
  void stop() { stopped_ = true; }  ///< once and for all: who was asked may not say it twice
  double error() const { return error_; }

  /// Potentials that belong together, while a pass may leave others behind.
  const Potentials& safe() const { return safe_; }

 private:
  double first_stage(double lambda, double range, const Vector& g);
  void restart(double lambda);
  bool reach(double tolerance);
  bool reach_by_anderson(double tolerance);
  bool may_go_on();
  bool within_budget() const;

  Kernel& kernel_;
  const Marginal& rows_;
  const TransportOptions& options_;
  Scaling scaling_;
  Newton newton_;
  double error_ = 0;
  bool stopped_ = false;
  Potentials safe_;
};

bool Solve::run(double lambda, double range, Potentials& potentials) {
  bool reached = false;
  if (kernel_.long_passes()) {
    safe_ = potentials;
    if (safe_.f.size() != rows_.size()) safe_.f = Vector::Zero(rows_.size());
    if (safe_.g.size() == 0) safe_.g = Vector::Zero(scaling_.column_count());
  }
  double stage = first_stage(lambda, range, potentials.g);
  while (true) {
    const bool last = stage <= lambda;
    // Between the stages the potentials only need to be close: 0.01 is where more care costs more
    // than it saves, and at 0.1 the next stage is lost (measured from R = 1e3 to 1e4). At the end
    // the check of what is returned adds its rounding.
    reached = reach(last ? 0.9 * options_.tolerance : std::max(0.01, options_.tolerance));
    if (last || !within_budget() || !scaling_.b().allFinite()) break;
    stage = std::max(lambda, stage / 2);
    restart(stage);
  }
  // A solve that was stopped early returns potentials that belong to lambda all the same.
  if (stage > lambda) scaling_.start(lambda, scaling_.g());
  safe_ = potentials = {scaling_.f(), scaling_.g()};
  return reached;
}

// Potentials of an earlier solve that put most of the mass in its place are kept. Any other start
// is annealed from range / lambda <= 128: potentials change little when lambda halves.
double Solve::first_stage(double lambda, double range, const Vector& g) {
  if (g.size() > 0) {
    scaling_.start(lambda, g);
    scaling_.sinkhorn();
    if (scaling_.error() < 0.5 || !within_budget()) return lambda;
  }
  double stage = lambda;
  if (options_.solver != SolverChoice::sinkhorn)
    while (range > 128 * stage) stage *= 2;
  scaling_.start(stage, Vector::Zero(scaling_.column_count()));
  scaling_.sinkhorn();
  return stage;
}

// The same potentials, another lambda.
void Solve::restart(double lambda) {
  scaling_.start(lambda, scaling_.g());
  scaling_.sinkhorn();
  newton_.lambda_changed();
}

bool Solve::may_go_on() {
  if (kernel_.long_passes() && scaling_.finite()) safe_ = {scaling_.f(), scaling_.g()};
  // One process that stops, stops all.
  if (options_.keep_going &&
      rows_.shard().any(stopped_ || !options_.keep_going(kernel_.counts().all(), error_)))
    stop();
  if (options_.snapshot) options_.snapshot([this]() -> Vector { return scaling_.g(); });
  return within_budget();
}

bool Solve::within_budget() const {
  return !stopped_ && kernel_.counts().fused < options_.max_passes;
}

bool Solve::reach(double tolerance) {
  if (options_.solver == SolverChoice::anderson) return reach_by_anderson(tolerance);
  // Newton steps cost about 1/sqrt(1 - rate) passes, Sinkhorn about 1/(1 - rate). A step also has
  // products of its own, so that below one half it does not pay.
  const double slow_rate = options_.solver == SolverChoice::newton ? 0 : 0.5;
  double last = 0, best = std::numeric_limits<double>::infinity();
  int in_vain = 0;  // Newton steps that did not lower the error, in the range of rounding
  for (int round = 0;; ++round) {
    error_ = scaling_.error();
    if (error_ <= tolerance) return true;
    if (!std::isfinite(error_) || !scaling_.finite() || !may_go_on() || in_vain > 30) return false;
    if (error_ < 0.9 * best || error_ > kernel_.rounding()) {
      best = error_;
      in_vain = 0;
    }
    const bool slow = round >= 2 && error_ > slow_rate * last;
    last = error_;
    if (slow && options_.solver != SolverChoice::sinkhorn) {
      newton_.step(scaling_, error_, options_.tolerance);
      ++in_vain;
      if (scaling_.error() <= tolerance || !within_budget()) continue;
    }
    scaling_.sinkhorn(options_.solver == SolverChoice::sinkhorn);
  }
}

// Sinkhorn is a fixed-point iteration t = T(y) on the potentials of the columns. The next y is the
// combination of the last t whose residual t - y is shortest. An iterate that lowers the dual,
// which T itself never does but for rounding, and does not lower the error either, is taken back,
// and the memory with it.
bool Solve::reach_by_anderson(double tolerance) {
  Anderson memory(5);
  Vector safe = scaling_.columns();
  double last_dual = -std::numeric_limits<double>::infinity(), last_error = 0;
  while (true) {
    error_ = scaling_.error();
    if (error_ <= tolerance) return true;
    const bool finite = std::isfinite(error_) && scaling_.finite();
    if ((!finite && memory.empty()) || !may_go_on()) return false;
    const double dual = scaling_.dual();
    if (!memory.empty() && (!finite || !(dual >= last_dual || error_ < last_error))) {
      scaling_.set_columns(safe);
      memory.clear();
      continue;
    }
    last_dual = dual;
    last_error = error_;
    const Vector y = scaling_.columns();
    safe = scaling_.next_columns();
    scaling_.set_columns(memory.next(y, safe));
  }
}

// While it lives, long passes of the kernel may be stopped. A stop that was asked for leaves the
// rest of a pass, and the check of the potentials, some time yet: most of them need less. Passes of
// several processes are not stopped, for all of them would have to be.
class Watch {
 public:
  Watch(Kernel& kernel, Solve& solve, const Shard& shard, const TransportOptions& options)
      : kernel_(kernel) {
    if (!options.keep_going || shard.divided()) return;
    kernel.watch([this, &solve, &options] {
      if (!solve.stopped()) {
        try {
          if (options.keep_going(kernel_.counts().all(), solve.error())) return true;
        } catch (...) {
          failure_ = std::current_exception();
        }
        solve.stop();
      }
      const auto now = std::chrono::steady_clock::now();
      if (!asked_) asked_ = now;
      return now - *asked_ < std::chrono::milliseconds(300);
    });
  }
  ~Watch() { kernel_.watch({}); }

  /// Throws what the caller threw when it was asked in the middle of a pass, where several threads
  /// are at work.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Kernel& kernel_;
  std::optional<std::chrono::steady_clock::time_point> asked_;
  std::exception_ptr failure_;
};

// What can be said without a plan.
TransportResult unmeasured(const Kernel& kernel) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  TransportResult result;
  for (double* value : {&result.source_error, &result.target_error, &result.cost, &result.entropy,
                        &result.mass, &result.relaxation, &result.dual, &result.gap})
    *value = nan;
  result.by_kind = kernel.counts();
  result.passes = result.by_kind.all();
  result.stopped = true;
  return result;
}

}  // namespace

Solved find_potentials(Kernel& kernel, const GroundCost& cost, const Marginal& rows,
                       const Marginal& columns, double lambda, const TransportOptions& options,
                       Potentials& potentials) {
  kernel.reset_counts();
  Solve run(kernel, rows, columns, options);
  const Watch watch(kernel, run, rows.shard(), options);
  Solved solved;
  try {
    solved.result.converged = run.run(lambda, cost.range(), potentials);
    solved.result.newton_steps = run.newton_steps();
    solved.sums =
        certify(kernel, rows, columns, lambda, potentials, options.tolerance, solved.result);
    solved.result.stopped = run.stopped();
    watch.rethrow();
    solved.has_plan = true;
  } catch (const Interrupted&) {
    watch.rethrow();
    potentials = run.safe();
    solved = {unmeasured(kernel), {}, false};
    solved.result.newton_steps = run.newton_steps();
  }
  return solved;
}

}  // namespace remblai
