// The outer loop: each step of the history, and the end.
#include "fit/alternation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "base/linalg.h"
#include "remblai/error.h"
#include "remblai/exact.h"
#include "transport/pairs.h"

namespace remblai {
namespace {

using linalg::Op;
constexpr double tiny = std::numeric_limits<double>::min();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Squared distances between a few rows of either set: all pairs of small sets. Multiples of the
// golden ratio spread over the rows evenly, and in step with no order that the rows may have.
Matrix some_distances(const Matrix& x, const Matrix& z) {
  static constexpr Index most = 256;
  const auto some = [](const Matrix& points) {
    if (points.rows() <= most) return points;
    Matrix rows(most, points.cols());
    for (Index i = 0; i < most; ++i) {
      const double place = static_cast<double>(i) * std::numbers::phi;
      const double share = place - std::floor(place);
      rows.row(i) = points.row(static_cast<Index>(share * static_cast<double>(points.rows())));
    }
    return rows;
  };
  Matrix distances;
  squared_distances(some(x), some(z), distances);
  return distances;
}

// Root mean square of the relative changes. Pairs in one place have no distance to change.
double relative_change(const Matrix& before, const Matrix& after) {
  const double floor = 1e-6 * before.mean();
  if (floor == 0) return 0;
  return std::sqrt(((after - before).array() / before.array().max(floor)).square().mean());
}

}  // namespace

Alternation::Alternation(const Space& space, const Options& options, int threads,
                         Diagnostics diagnostics, Callback callback, const Start& start)
    : space_(space),
      options_(options),
      diagnostics_(diagnostics),
      callback_(std::move(callback)),
      metric_(space.frame),
      transport_(space.p, space.q,
                 {.threads = threads,
                  .memory = options.resources.memory,
                  .precision = options.resources.precision}) {
  if (learned())
    first_learned_metric();
  else
    fixed_metric();
  if (!(metric_.unit > tiny && std::isfinite(metric_.unit)))
    throw Error(
        fmt::format("source and target: coordinates of size {:.1e} give costs of size {:.1e} under "
                    "this metric, which double precision cannot hold; rescale the data",
                    space_.frame.length, metric_.unit));
  place_points();
  unit_cost_ = mean_cost();
  if (start.g.size() > 0) first_g_ = start.g / metric_.unit;
  if (!learned()) return;
  first_moment_ = space_.first_moment;
  const bool given = start.moment.size() > 0;
  if (given || options_.seed != 0) {
    first_moment_ = given ? start.moment : second_moment(space_, first_plan(space_, options_.seed));
    first_ = learn_first(first_moment_);
    use(first_);
    place_points();
  }
  first_x_ = x_;
  first_z_ = z_;
}

void Alternation::fixed_metric() {
  const SpanMatrix& a = space_.reference;
  metric_.factor = a.lower.transpose();
  metric_.outside = a.outside;
  metric_.unit = a.scale * space_.frame.length * space_.frame.length;
}

// The first moment fixes the ridge and the first metric.
void Alternation::first_learned_metric() {
  const double trace = space_.first_moment.trace();
  const double length = space_.frame.length;
  // All points may be one point; then any unit will do.
  const double mean = trace > 0 ? trace / static_cast<double>(space_.dimension()) : 1;
  const bool relative = options_.ridge_unit == Unit::relative;
  ridge_ = relative ? options_.ridge * mean : options_.ridge / length / length;
  if (ridge_ == 0 && space_.rank() < space_.dimension())
    throw Error(
        {.field = "ridge",
         .value = "0",
         .problem =
             fmt::format("leaves the metric undefined, for the points span {} of {} dimensions",
                         space_.rank(), space_.dimension()),
         .remedy = fmt::format("give a positive ridge (the default is {})", Options().ridge)});
  // C^-1 #_t D scales like length^(2 (t - 1)) times the scale of D to the power t.
  const double t = options_.geodesic;
  const double size = std::pow(length, 2 * (t - 1)) * std::pow(space_.reference.scale, t);
  metric_.unit = size * length * length;
  prior_scale_ = space_.reference.scale / size;
  metric_step_ = std::make_unique<MetricStep>(space_, ridge_, t);
  first_ = learn_first(space_.first_moment);
  use(first_);
}

// A ridge too small for the data is the caller's to mend; later on it is a status.
LearnedMetric Alternation::learn_first(const Matrix& moment) const {
  LearnedMetric first = (*metric_step_)(moment);
  if (!first.ok) throw Error({.field = "ridge", .problem = singular_reason()});
  return first;
}

void Alternation::use(LearnedMetric metric) {
  learned_ = std::move(metric);
  metric_.factor = learned_.factor;
  metric_.outside = learned_.outside;
}

void Alternation::place_points() {
  x_ = embed(space_.x);
  z_ = embed(space_.z);
}

Matrix Alternation::embed(const Matrix& points) const {
  const Matrix& factor = metric_.factor;
  return factor.size() ? linalg::multiply(points, factor, Op::none, Op::transpose) : points;
}

// Needs no pair of points.
double Alternation::mean_cost() const {
  const double cost = space_.p.dot(x_.rowwise().squaredNorm()) +
                      space_.q.dot(z_.rowwise().squaredNorm()) -
                      2 * (x_.transpose() * space_.p).dot(z_.transpose() * space_.q);
  return cost > 0 ? cost : 1;  // 0: all points are one point
}

double Alternation::ridge() const {
  const double length = space_.frame.length;
  return options_.ridge_unit == Unit::relative ? ridge_ * length * length : options_.ridge;
}

std::string Alternation::singular_reason() const {
  return fmt::format(
      "the second moment of the displacements is singular to working precision (ridge "
      "{:g}); give a larger $ridge",
      ridge());
}

void Alternation::run(double lambda) {
  begin(lambda);
  while (step()) {
  }
}

void Alternation::begin(double lambda) {
  const bool relative = options_.lambda_unit == Unit::relative;
  lambda_ = relative ? lambda * unit_cost_ : lambda / metric_.unit;
  absolute_lambda_ = relative ? lambda_ * metric_.unit : lambda;
  if (lambda > 0 && !(lambda_ > tiny && absolute_lambda_ > tiny && std::isfinite(absolute_lambda_)))
    throw Error({.field = "lambda",
                 .value = fmt::format("{} ({})", lambda, name(options_.lambda_unit)),
                 .problem = fmt::format("comes to {:.1e} in units of the cost, which double "
                                        "precision cannot hold",
                                        absolute_lambda_),
                 .remedy = "give another $lambda or rescale the data"});
  start_ = last_report_ = Clock::now();
  if (learned()) {
    use(first_);
    x_ = first_x_;
    z_ = first_z_;
    seen_ = some_distances(x_, z_);
    moment_ = first_moment_;
    memory_.clear();
    // With t other than 1/2 the objective tells nothing.
    accelerate_ = options_.acceleration == Acceleration::anderson && options_.geodesic == 0.5;
  }
  if (lambda_ > 0 && (learned() || !has_costs_)) {
    transport_.set_points(x_, z_);
    has_costs_ = true;
  }
  if (first_g_.size() > 0) transport_.start_from(first_g_);
  exact_.clear();
  change_ = std::numeric_limits<double>::infinity();
  history_.clear();
  status_ = {};
  stopped_ = false;
}

// One outer step. False when there is none after it.
bool Alternation::step() {
  const auto begin = Clock::now();
  const bool full = diagnostics_ == Diagnostics::full;
  const LearnedMetric before = full ? learned_ : LearnedMetric();
  Step record;
  if (!learned() || history_.empty()) {
    record = plan_step();
  } else {
    const Matrix moment = second_moment(space_, plan_moments());
    const bool accelerated = accelerate_ && accelerated_step(moment, record);
    if (!accelerated && !stopped_) {
      accelerate_ = false;  // this run is not for it; one step is lost at most
      if (!learn(moment)) {
        status_ = {Outcome::diverged, {.problem = singular_reason()}};
        return false;
      }
      record = plan_step();
    }
    seen_ = std::move(now_);
  }
  const bool end = last_step();
  if (end && full) judge(before, record);
  record.seconds = seconds_since(begin);
  history_.push_back(record);
  if (!report(&history_.back(), record.inner_iterations, record.source_error)) stopped_ = true;
  if (stopped_) {
    status_ = {Outcome::stopped,
               {.problem = fmt::format("stopped on request after step {}", record.step)}};
    return false;
  }
  if (!std::isfinite(record.objective)) {
    status_ = {
        Outcome::diverged,
        {.problem = "the objective is not finite", .remedy = "give a larger $lambda or $ridge"}};
    return false;
  }
  if (end) conclude(record);
  return !end;
}

// The metric from a mixture of this moment and those before. False when the objective has risen
// above the lowest so far, by more than the plans may be wrong.
bool Alternation::accelerated_step(const Matrix& moment, Step& record) {
  const auto entries = [](const Matrix& a) { return Eigen::Map<const Vector>(a.data(), a.size()); };
  const Vector mixed = memory_.next(entries(moment_), entries(moment));
  if (!learn(Eigen::Map<const Matrix>(mixed.data(), moment.rows(), moment.cols()))) return false;
  record = plan_step();
  const Step& lowest =
      *std::min_element(history_.begin(), history_.end(),
                        [](const Step& a, const Step& b) { return a.objective < b.objective; });
  return record.objective <= lowest.objective + lowest.duality_gap + record.duality_gap;
}

bool Alternation::learn(const Matrix& moment) {
  LearnedMetric next = (*metric_step_)(moment);
  if (!next.ok) return false;
  use(std::move(next));
  moment_ = moment;
  place_points();
  if (lambda_ > 0) transport_.set_points(x_, z_);
  now_ = some_distances(x_, z_);
  change_ = relative_change(seen_, now_);
  return true;
}

bool Alternation::settled() const {
  return !learned() || change_ < options_.outer_tolerance;
}

bool Alternation::last_step() const {
  return settled() || static_cast<int>(history_.size()) + 1 == options_.steps;
}

// The plan for the metric at hand.
Step Alternation::plan_step() {
  Step record;
  record.step = static_cast<int>(history_.size()) + 1;
  if (learned() && record.step > 1) record.distance_change = change_;
  const bool loose = !last_step() && options_.inner == InnerTolerance::adaptive;
  if (lambda_ > 0)
    entropic_step(record, loose ? std::max(options_.tolerance, std::min(0.1 * change_, 1e-3))
                                : options_.tolerance);
  else
    exact_step(record);
  if (learned()) {
    record.prior_term = prior_scale_ * learned_.prior_term;
    record.ridge_term = metric_.unit * ridge_ * learned_.trace;
    record.riccati_residual = record.metric_change = nan;
  }
  record.condition = nan;
  record.objective = record.transport_cost + record.prior_term + record.ridge_term -
                     absolute_lambda_ * record.entropy;
  return record;
}

// The numbers that judge the metric. They take about as long as the metric step itself.
void Alternation::judge(const LearnedMetric& before, Step& record) const {
  if (learned()) {
    record.riccati_residual = metric_step_->residual(learned_, moment_);
    record.condition = metric_step_->condition(learned_);
    record.metric_change = record.step > 1 ? metric_step_->distance(before, learned_) : 0;
  } else if (metric_.factor.size()) {
    const Vector values = linalg::eigenvalues(linalg::gram(metric_.factor));
    record.condition = values.size() ? values[values.size() - 1] / values[0] : nan;
  } else {
    record.condition = 1;
  }
}

void Alternation::conclude(const Step& last) {
  if (!last.inner_converged)
    status_ = {Outcome::iteration_limit,
               {.problem = fmt::format(
                    "the plan of the last step misses its marginals by {:.1e} after {} passes",
                    std::max(last.source_error, last.target_error), last.inner_iterations),
                .remedy = "give a larger $lambda or $tolerance, or $lambda 0 for exact transport"}};
  else if (settled())
    status_ = {Outcome::converged,
               {.problem = learned() ? fmt::format("the metric settled after {} steps", last.step)
                                     : "the marginals are met"}};
  else if (last.step == 1)
    status_ = {Outcome::iteration_limit,
               {.problem = "one step cannot tell whether the metric has settled",
                .remedy = "give more $steps"}};
  else
    status_ = {Outcome::iteration_limit,
               {.problem = fmt::format("squared distances still change by {:.1e} a step after {} "
                                       "steps (outer tolerance {:.1e})",
                                       change_, last.step, options_.outer_tolerance),
                .remedy = "give more $steps"}};
}

void Alternation::entropic_step(Step& record, double tolerance) {
  TransportOptions options;
  options.tolerance = tolerance;
  options.solver = options_.solver;
  options.keep_going = [this](int passes, double error) { return report(nullptr, passes, error); };
  const TransportResult result = transport_.solve(lambda_, options);
  stopped_ = stopped_ || result.stopped;
  if (record.step == 1 && transport_.g().allFinite()) first_g_ = transport_.g();
  const double unit = metric_.unit;
  record.transport_cost = unit * result.cost;
  record.entropy = result.entropy;
  record.source_error = result.source_error;
  record.target_error = result.target_error;
  record.duality_gap = unit * result.gap;
  record.inner_iterations = result.passes;
  record.inner_converged = result.converged;
  f_ = unit * transport_.f();
  g_ = unit * transport_.g();
}

void Alternation::exact_step(Step& record) {
  Matrix cost;
  squared_distances(x_, z_, cost);
  const ExactPlan exact = exact_transport(cost, space_.p, space_.q);
  exact_ = exact.masses;
  for (const Mass& mass : exact_) record.entropy -= mass.amount * std::log(mass.amount);
  const PlanMoments plan = plan_moments();
  const double unit = metric_.unit;
  record.transport_cost = unit * exact.cost;
  record.source_error = (plan.rows - space_.p).lpNorm<1>();
  record.target_error = (plan.columns - space_.q).lpNorm<1>();
  record.duality_gap = unit * exact.gap;
  record.inner_converged = true;
  f_ = unit * exact.f;
  g_ = unit * exact.g;
}

bool Alternation::report(const Step* record, int passes, double error) {
  if (!callback_) return true;
  if (!record && seconds_since(last_report_) < 0.1) return true;
  last_report_ = Clock::now();
  const int step = static_cast<int>(history_.size()) + (record ? 0 : 1);
  return callback_(
      {step, learned() ? options_.steps : 1, passes, error, seconds_since(start_), record});
}

double Alternation::fixed_point_residual() const {
  return learned() ? metric_step_->residual(learned_, second_moment(space_, plan_moments())) : nan;
}

// Of the last plan.
PlanMoments Alternation::plan_moments() const {
  if (lambda_ > 0)
    return {transport_.plan_times(space_.z), transport_.source_marginal(),
            transport_.target_marginal()};
  PlanMoments plan{Matrix::Zero(space_.x.rows(), space_.rank()), Vector::Zero(space_.p.size()),
                   Vector::Zero(space_.q.size())};
  for (const Mass& mass : exact_) {
    plan.plan_z.row(mass.source) += mass.amount * space_.z.row(mass.target);
    plan.rows[mass.source] += mass.amount;
    plan.columns[mass.target] += mass.amount;
  }
  return plan;
}

Matrix Alternation::conditionals() const {
  Matrix plan;
  if (lambda_ > 0) {
    plan = transport_.plan();
  } else {
    plan = Matrix::Zero(space_.p.size(), space_.q.size());
    for (const Mass& mass : exact_) plan(mass.source, mass.target) = mass.amount;
  }
  const Vector sums = plan.rowwise().sum();
  return sums.cwiseInverse().asDiagonal() * plan;
}

}  // namespace remblai
