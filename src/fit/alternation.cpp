// The outer loop, and what each step of its history records.
#include "fit/alternation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "fit/distance_watch.h"

namespace remblai {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double grace_seconds = 2;
constexpr double infinity = std::numeric_limits<double>::infinity();

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Alternation {
 public:
  Alternation(const Parts& parts, const RunSettings& run) : parts_(parts), run_(run) {
    out_.lambda = run.lambda;
  }

  Outcomes run();

 private:
  bool learned_plan(const Matrix& moment, Step& record);
  Step plan_step();
  void ask_classes();
  void follow_classes();
  void learn_head();
  bool keeps_going() const { return parts_.classes || parts_.learner.learns(); }
  bool last_step() const;
  bool rises(const Step& record) const;
  void judge(const LearnedMetric& before, Step& record) const;
  Matrix moment() const;
  Matrix class_moment() const;
  bool report(const Step* record, int passes, double error);
  void go_on_from(const RunState& state);
  RunState state(const Matrix& moment) const;
  Status conclusion() const;

  Parts parts_;
  const RunSettings& run_;
  Outcomes out_;
  DistanceWatch watch_;
  double best_ = infinity;  // upper bound of the lowest objective so far
  double bounds_[2] = {};   // of the objective of the last plan: lower, upper
  PlanMoments followed_;    // of the plan that the classes followed
  bool stopped_ = false;
  Clock::time_point start_ = Clock::now(), last_report_ = start_;
};

Outcomes Alternation::run() {
  const bool full = run_.diagnostics == Diagnostics::full;
  Matrix moment = run_.moment;
  if (run_.resumed) {
    go_on_from(*run_.resumed);
    moment = run_.resumed->moment;
  } else if (run_.file) {
    run_.file->save(state(moment));
  }
  while (true) {
    const auto begin = Clock::now();
    const LearnedMetric before = full ? parts_.learner.learned() : LearnedMetric();
    Step record;
    if (!learned_plan(moment, record)) {
      out_.status = {Outcome::diverged, parts_.learner.singular()};
      break;
    }
    const bool last = last_step();
    if (last && full) judge(before, record);
    record.seconds = seconds_since(begin);
    out_.history.push_back(record);
    out_.planned = true;
    if (parts_.space.shard.any(
            !report(&out_.history.back(), record.inner_iterations, record.target_error)))
      stopped_ = true;
    if (parts_.classes && std::isfinite(record.objective)) follow_classes();
    if (stopped_ || last || !std::isfinite(record.objective)) {
      out_.status = conclusion();
      if (stopped_ && run_.file) run_.file->flush();
      break;
    }
    watch_.accept();
    best_ = std::min(best_, bounds_[1]);
    moment = this->moment();
    if (run_.file) run_.file->save(state(moment));
  }
  // A plan that was stopped in the middle of a pass is not there.
  const bool has_plan = out_.planned && !std::isnan(out_.history.back().mass);
  const bool residual = full && parts_.learner.learns() && has_plan;
  out_.fixed_point_residual = residual ? parts_.learner.residual(this->moment()) : nan;
  if (parts_.classes && out_.planned) learn_head();
  return std::move(out_);
}

// A run that was stopped before has some time yet: the labels are worth it.
void Alternation::learn_head() {
  const auto begin = Clock::now();
  parts_.classes->learn_head(parts_.learner.x(), parts_.learner.z(), [&] {
    const bool on = parts_.space.shard.all(report(nullptr, 0, 0) ||
                                           (stopped_ && seconds_since(begin) < grace_seconds));
    if (!on && !stopped_) {
      stopped_ = true;
      out_.status = conclusion();
    }
    return on;
  });
}

// What is not in a state follows from it: the metric from its moment, the plan from the metric.
RunState Alternation::state(const Matrix& moment) const {
  RunState state{out_.history,           best_, moment, watch_.accepted(), parts_.planner.g(),
                 parts_.learner.state(), {}};
  if (parts_.classes) state.classes = parts_.classes->state();
  return state;
}

void Alternation::go_on_from(const RunState& state) {
  out_.history = state.history;
  best_ = state.best;
  watch_.restore(state.distances);
  if (parts_.classes && state.classes)
    parts_.classes->restore(*state.classes, state.learner, parts_.learner);
  else
    parts_.learner.restore(state.learner);
}

// The plan under the classifier's opinion, with row sums by the class shares. A relative lambda
// follows the mean cost of the step. Exact plans hear the opinion as those of the default do.
void Alternation::ask_classes() {
  const Options& options = parts_.options;
  ClassStep& classes = *parts_.classes;
  const MetricLearner& learner = parts_.learner;
  classes.ask(learner.x(), learner.z(), [this] {
    stopped_ = stopped_ || parts_.space.shard.any(!report(nullptr, 0, 0));
    return !stopped_;
  });
  const double mean = classes.mean_cost();
  PlanOptions plan;
  plan.lambda = options.lambda_unit == Unit::relative ? options.lambda * mean
                                                      : options.lambda / learner.unit();
  plan.solver = options.solver;
  out_.lambda = plan.lambda * learner.unit();
  const double weight = options.lambda > 0
                            ? plan.lambda
                            : Options{.method = Method::class_aware}.resolved().lambda * mean;
  out_.class_cost = options.classes.opinion * weight * learner.unit();
  const Matrix class_costs = classes.class_costs(options.classes.opinion * weight);
  if (!std::isfinite(1e3 * out_.class_cost) || !std::isfinite(class_costs.squaredNorm())) {
    const bool opinion = options.classes.opinion > options.lambda;
    throw Error({.field = opinion ? "opinion" : "lambda",
                 .value = fmt::format("{:g}", opinion ? options.classes.opinion : options.lambda),
                 .problem = "is more than double precision can hold in the class term",
                 .remedy = "give a smaller $lambda or $opinion"});
  }
  parts_.planner.prepare(plan);
  parts_.planner.set_classes(learner.x(), learner.z(), classes.members(), class_costs,
                             classes.row_sums());
}

// The source points of each class follow the plan.
void Alternation::follow_classes() {
  const Matrix plan_shares = parts_.space.q.cwiseInverse().asDiagonal() *
                             parts_.planner.transposed_times(parts_.classes->members());
  followed_ = parts_.planner.moments(parts_.space.z);
  parts_.classes->move(followed_, plan_shares, parts_.learner);
  parts_.classes->move_points_of(parts_.learner);
}

Matrix Alternation::moment() const {
  if (parts_.classes) return class_moment();
  const Space& space = parts_.space;
  return second_moment(space.x, space.z, parts_.planner.moments(space.z, space.targets.divided()),
                       space.shard, space.targets);
}

// The moved source lies where the target does. Far from the origin the squares of both would
// cancel: they are then measured from the mean of the target. Nearer, digits enough are left.
Matrix Alternation::class_moment() const {
  constexpr double far = 1e6;  // a thousand spreads, squared
  const Space& space = parts_.space;
  const Matrix& moved = parts_.classes->moved();
  const Eigen::RowVectorXd mean = weighted_mean(space.z, space.q, {}).transpose();
  if (!(mean.squaredNorm() > far * spread_around_mean(space.z, space.q, {})))
    return second_moment(moved, space.z, followed_, space.shard);
  PlanMoments plan = followed_;
  plan.plan_z -= plan.rows * mean;
  return second_moment(moved.rowwise() - mean, space.z.rowwise() - mean, plan, space.shard);
}

// The metric for this moment and the plan for that metric. A step that was accelerated and surely
// raised the objective is made again without; its passes count. False when the moment is singular.
bool Alternation::learned_plan(const Matrix& moment, Step& record) {
  if (!parts_.learner.learn(moment)) return false;
  record = plan_step();
  if (!parts_.learner.accelerated() || stopped_ || !rises(record)) return true;
  const int lost = record.inner_iterations;
  if (!parts_.learner.take_back(moment)) return false;
  record = plan_step();
  record.inner_iterations += lost;
  record.rejected = 1;
  return true;
}

// Each plan bounds the objective that its metric can reach from both sides.
bool Alternation::rises(const Step& record) const {
  return !std::isfinite(record.objective) || bounds_[0] > best_;
}

Step Alternation::plan_step() {
  const Options& options = parts_.options;
  const MetricLearner& learner = parts_.learner;
  if (keeps_going())
    watch_.look(learner.x(), learner.z(), parts_.space.shard, parts_.space.targets);
  if (parts_.classes)
    ask_classes();
  else if (learner.learns())
    parts_.planner.take_points(parts_.learner.released_points(), parts_.space.targets.divided());
  // Before the last step the plan needs to be only as good as the metric it leads to.
  const bool loose = !last_step() && options.inner == InnerTolerance::adaptive;
  const double tolerance = loose
                               ? std::max(options.tolerance, std::min(0.1 * watch_.change(), 1e-3))
                               : options.tolerance;
  const TransportResult plan = parts_.planner.solve(
      tolerance,
      [this](int passes, double error) { return !stopped_ && report(nullptr, passes, error); },
      run_.file ? Snapshot([this](const auto& g) {
        if (run_.file->due()) run_.file->save_potentials(g());
      })
                : Snapshot());
  stopped_ = stopped_ || plan.stopped;
  if (out_.history.empty() && parts_.planner.g().allFinite()) out_.first_g = parts_.planner.g();

  Step record;
  record.step = static_cast<int>(out_.history.size()) + 1;
  const double unit = learner.unit();
  record.transport_cost = unit * plan.cost;
  record.entropy = plan.entropy;
  record.relaxation = unit * plan.relaxation;
  record.mass = plan.mass;
  record.prior_term = learner.prior_term();
  record.ridge_term = learner.ridge_term();
  record.objective = record.transport_cost + record.relaxation + record.prior_term +
                     record.ridge_term - out_.lambda * record.entropy;
  record.source_error = plan.source_error;
  record.target_error = plan.target_error;
  record.duality_gap = unit * plan.gap;
  record.inner_iterations = plan.passes;
  record.inner_converged = plan.converged;
  if (learner.learns()) {
    record.riccati_residual = record.metric_change = nan;
  }
  if (keeps_going() && record.step > 1) record.distance_change = watch_.change();
  record.condition = nan;
  bounds_[0] = unit * plan.dual + record.prior_term + record.ridge_term;
  bounds_[1] = bounds_[0] + record.duality_gap;
  return record;
}

bool Alternation::last_step() const {
  if (static_cast<int>(out_.history.size()) + 1 == parts_.options.steps) return true;
  if (parts_.classes) return false;
  return !parts_.learner.learns() || watch_.change() < parts_.options.outer_tolerance;
}

// The numbers that judge the metric. They take about as long as the metric step itself.
void Alternation::judge(const LearnedMetric& before, Step& record) const {
  const MetricLearner& learner = parts_.learner;
  record.condition = learner.condition();
  if (!learner.learns()) return;
  record.riccati_residual = learner.residual(learner.used_moment());
  record.metric_change = record.step > 1 ? learner.distance_from(before) : 0;
}

Status Alternation::conclusion() const {
  const Step& last = out_.history.back();
  const Options& options = parts_.options;
  const bool relaxed = options.relax_source > 0 || options.relax_target > 0;
  if (stopped_)
    return {Outcome::stopped,
            {.problem = fmt::format("stopped on request after step {}", last.step)}};
  if (!std::isfinite(last.objective))
    return {
        Outcome::diverged,
        {.problem = "the objective is not finite", .remedy = "give a larger $lambda or $ridge"}};
  if (!last.inner_converged)
    return {Outcome::iteration_limit,
            {.problem =
                 fmt::format("the plan of the last step misses its marginals by {:.1e} "
                             "after {} passes",
                             std::max(last.source_error, last.target_error), last.inner_iterations),
             .remedy = relaxed ? "give a larger $lambda, $tolerance, $relax-source or $relax-target"
                               : "give a larger $lambda or $tolerance, or a $lambda of 0 for exact "
                                 "transport"}};
  if (last.mass < 0.01)
    return {
        Outcome::converged,
        {.problem = fmt::format("the sums are where they should be, but the plan moves a mass of "
                                "{:.1e} only",
                                last.mass),
         .remedy = "give a larger $relax-source or $relax-target, or centre both clouds first"}};
  if (parts_.classes)
    return {Outcome::converged,
            {.problem = fmt::format("made its {} steps; the plan of the last meets its marginals",
                                    last.step)}};
  if (!parts_.learner.learns())
    return {
        Outcome::converged,
        {.problem = relaxed ? "the relaxed sums are at their optimum" : "the marginals are met"}};
  if (watch_.change() < options.outer_tolerance)
    return {Outcome::converged,
            {.problem = fmt::format("the metric settled after {} steps", last.step)}};
  if (last.step == 1)
    return {Outcome::iteration_limit,
            {.problem = "one step cannot tell whether the metric has settled",
             .remedy = "give more $steps"}};
  return {Outcome::iteration_limit,
          {.problem = fmt::format("squared distances still change by {:.1e} a step after {} steps "
                                  "(outer tolerance {:.1e})",
                                  watch_.change(), last.step, options.outer_tolerance),
           .remedy = "give more $steps"}};
}

bool Alternation::report(const Step* record, int passes, double error) {
  if (!run_.callback) return true;
  if (!record && seconds_since(last_report_) < 0.1) return true;
  last_report_ = Clock::now();
  const int step = static_cast<int>(out_.history.size()) + (record ? 0 : 1);
  return run_.callback({step, keeps_going() ? parts_.options.steps : 1, passes, error,
                        seconds_since(start_), record});
}

}  // namespace

Outcomes alternate(const Parts& parts, const RunSettings& run) {
  return Alternation(parts, run).run();
}

}  // namespace remblai
