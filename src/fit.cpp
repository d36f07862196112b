// Algorithm 1: metric step and transport step in turn, each record of the history, and the end.
#include "remblai/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include "linalg.h"
#include "memory.h"
#include "metric_step.h"
#include "moment.h"
#include "pairs.h"
#include "remblai/error.h"
#include "remblai/threads.h"
#include "remblai/transport.h"
#include "space.h"

namespace remblai {
namespace {

using Clock = std::chrono::steady_clock;
using linalg::Op;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Fit {
 public:
  Fit(const Problem& problem, const Options& options, const Callback& callback)
      : problem_(problem), options_(options), callback_(callback) {}

  Model run();

 private:
  void prepare();
  bool learned() const { return options_.metric == MetricChoice::learned; }
  void first_metric();
  void learned_metric();
  double mean_cost() const;
  void use_first(const PlanMoments& plan);
  void use(LearnedMetric metric);
  Matrix embed(const Matrix& points) const;
  bool alternate();
  void conclude(const Step& last, bool settled);
  void transport_step(Step& record, double tolerance);
  void entropic_step(Step& record, double tolerance, const Matrix& x, const Matrix& z);
  void exact_step(Step& record, const Matrix& x, const Matrix& z);
  void complete(Step& record);
  bool report(const Step* record, int passes, double error);
  void keep_potentials(const Vector& f, const Vector& g);
  void finish(Outcome outcome, std::string reason);
  std::string singular_reason() const;

  const Problem& problem_;
  const Options& options_;
  const Callback& callback_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_report_ = start_;
  int threads_ = 1;

  Space space_;
  Model model_;
  std::unique_ptr<MetricStep> metric_step_;
  std::unique_ptr<Transport> transport_;
  LearnedMetric metric_;
  PlanMoments plan_;
  double ridge_ = 0;        // in the coordinates of the space
  double lambda_ = 0;       // in units of the cost between embedded points
  double prior_scale_ = 1;  // <A^-1, D> in units of the data
  double change_ = std::numeric_limits<double>::infinity();
  bool stopped_ = false;
};

void Fit::prepare() {
  options_.validate();
  problem_.source.validate("source");
  problem_.target.validate("target");
  if (problem_.source.dimension() != problem_.target.dimension())
    throw Error(
        fmt::format("target: points have {} coordinates, the source has {}; both need the same "
                    "features (are points in columns? then transpose)",
                    problem_.target.dimension(), problem_.source.dimension()));
  const double needed = Transport::bytes(problem_.source.size(), problem_.target.size());
  if (needed > available_memory())
    throw Error(
        fmt::format("source and target: a plan between {} and {} points needs {:.1f} GiB, {:.1f} "
                    "GiB are free; fit on fewer points and map the others afterwards",
                    problem_.source.size(), problem_.target.size(), needed / 0x1p30,
                    available_memory() / 0x1p30));
  threads_ = set_threads(options_.threads);

  model_.options = options_;
  model_.scaler = fit_scaler(options_.preprocess, problem_.source, problem_.target);
  model_.source = {model_.scaler.apply(problem_.source.points), problem_.source.labels,
                   problem_.source.probabilities()};
  model_.target = {model_.scaler.apply(problem_.target.points), problem_.target.labels,
                   problem_.target.probabilities()};
  space_ = make_space(problem_, model_.source.points, model_.target.points, options_);
  model_.metric = space_.frame;
  transport_ = std::make_unique<Transport>(space_.p, space_.q, threads_);
}

// The first moment fixes the ridge and the first metric, which fixes the unit of lambda.
void Fit::first_metric() {
  if (learned()) {
    learned_metric();
  } else {
    const SpanMatrix& a = space_.reference;
    model_.metric.factor = a.lower.transpose();
    model_.metric.outside = a.outside;
    model_.metric.unit = a.scale * space_.frame.length * space_.frame.length;
  }
  const double unit = model_.metric.unit;
  if (!(unit > std::numeric_limits<double>::min() && std::isfinite(unit)))
    throw Error(
        fmt::format("source and target: coordinates of size {:.1e} give costs of size {:.1e} under "
                    "this metric, which double precision cannot hold; rescale the data",
                    space_.frame.length, unit));
  const bool relative = options_.lambda_unit == Unit::relative;
  lambda_ = relative ? options_.lambda * mean_cost() : options_.lambda / unit;
  model_.lambda = relative ? lambda_ * unit : options_.lambda;
  const double tiny = std::numeric_limits<double>::min();
  if (options_.lambda > 0 &&
      !(lambda_ > tiny && model_.lambda > tiny && std::isfinite(model_.lambda)))
    throw Error(
        fmt::format("lambda: {} ({}) comes to {:.1e} in units of the cost, which double precision "
                    "cannot hold; give another lambda or rescale the data",
                    options_.lambda, name(options_.lambda_unit), model_.lambda));
  if (learned() && options_.seed != 0) use_first(first_plan(space_, options_.seed));
}

void Fit::learned_metric() {
  const PlanMoments independent = first_plan(space_, 0);
  const double trace = second_moment(space_, independent).trace();
  const double length = space_.frame.length;
  // All points may be one point; then any unit will do.
  const double mean = trace > 0 ? trace / static_cast<double>(space_.dimension()) : 1;
  const bool relative = options_.ridge_unit == Unit::relative;
  ridge_ = relative ? options_.ridge * mean : options_.ridge / length / length;
  model_.ridge = relative ? ridge_ * length * length : options_.ridge;
  if (ridge_ == 0 && space_.rank() < space_.dimension())
    throw Error(
        fmt::format("ridge: 0 leaves the metric undefined, for the points span {} of {} "
                    "dimensions; give a positive ridge (the default is {})",
                    space_.rank(), space_.dimension(), Options().ridge));
  // C^-1 #_t D scales like length^(2 (t - 1)) times the scale of D to the power t.
  const double t = options_.geodesic;
  const double size = std::pow(length, 2 * (t - 1)) * std::pow(space_.reference.scale, t);
  model_.metric.unit = size * length * length;
  prior_scale_ = space_.reference.scale / size;
  metric_step_ = std::make_unique<MetricStep>(space_, ridge_, t);
  use_first(independent);
}

// A ridge too small for the data is the caller's to mend; later on it is a status.
void Fit::use_first(const PlanMoments& plan) {
  LearnedMetric first = (*metric_step_)(second_moment(space_, plan));
  if (!first.ok) throw Error("ridge: " + singular_reason());
  use(std::move(first));
}

// Of the independent coupling, between embedded points: needs no pair of them.
double Fit::mean_cost() const {
  const Matrix x = embed(space_.x);
  const Matrix z = embed(space_.z);
  const double cost = space_.p.dot(x.rowwise().squaredNorm()) +
                      space_.q.dot(z.rowwise().squaredNorm()) -
                      2 * (x.transpose() * space_.p).dot(z.transpose() * space_.q);
  return cost > 0 ? cost : 1;  // 0: all points are one point
}

void Fit::use(LearnedMetric metric) {
  metric_ = std::move(metric);
  model_.metric.factor = metric_.factor;
  model_.metric.outside = metric_.outside;
}

// Points in the coordinates of the space, so that squared distances are costs over the unit.
Matrix Fit::embed(const Matrix& points) const {
  const Matrix& factor = model_.metric.factor;
  return factor.size() ? linalg::multiply(points, factor, Op::none, Op::transpose) : points;
}

std::string Fit::singular_reason() const {
  return fmt::format(
      "the second moment of the displacements is singular to working precision (ridge "
      "{:g}); give a larger --ridge",
      model_.ridge);
}

Model Fit::run() {
  prepare();
  first_metric();
  while (alternate()) {
  }
  if (learned())
    model_.fixed_point_residual = metric_step_->residual(metric_, second_moment(space_, plan_));
  return std::move(model_);
}

// One outer step. False when there is none after it.
bool Fit::alternate() {
  const auto begin = Clock::now();
  Step record;
  record.step = static_cast<int>(model_.history.size()) + 1;
  if (learned() && record.step > 1) {
    LearnedMetric next = (*metric_step_)(second_moment(space_, plan_));
    if (!next.ok) {
      finish(Outcome::diverged, singular_reason());
      return false;
    }
    const MetricChange change = metric_step_->change(metric_, next);
    record.metric_change = change.distance;
    change_ = change.largest;
    use(std::move(next));
  }
  const bool settled = !learned() || change_ <= options_.outer_tolerance;
  const bool last = settled || record.step == options_.steps;
  const bool loose = !last && options_.inner == InnerTolerance::adaptive;
  transport_step(record, loose ? std::max(options_.tolerance, std::min(0.01 * change_, 1e-3))
                               : options_.tolerance);
  record.seconds = seconds_since(begin);
  complete(record);
  model_.history.push_back(record);
  if (!report(&model_.history.back(), record.inner_iterations, record.source_error))
    stopped_ = true;
  if (stopped_) {
    finish(Outcome::stopped, fmt::format("stopped on request after step {}", record.step));
    return false;
  }
  if (!std::isfinite(record.objective)) {
    finish(Outcome::diverged, "the objective is not finite; give a larger --lambda or --ridge");
    return false;
  }
  if (!last) return true;
  conclude(record, settled);
  return false;
}

void Fit::conclude(const Step& last, bool settled) {
  if (!last.inner_converged)
    finish(Outcome::iteration_limit,
           fmt::format(
               "the plan of the last step misses its marginals by {:.1e} after {} passes; give a "
               "larger --lambda or --tolerance, or --lambda 0 for exact transport",
               std::max(last.source_error, last.target_error), last.inner_iterations));
  else if (settled)
    finish(Outcome::converged, learned()
                                   ? fmt::format("the metric settled after {} steps", last.step)
                                   : "the marginals are met");
  else if (last.step == 1)
    finish(Outcome::iteration_limit,
           "one step cannot tell whether the metric has settled; give more --steps");
  else
    finish(Outcome::iteration_limit,
           fmt::format("the metric still changes by {:.1e} a step after {} steps (outer tolerance "
                       "{:.1e}); give more --steps",
                       change_, last.step, options_.outer_tolerance));
}

void Fit::transport_step(Step& record, double tolerance) {
  const Matrix x = embed(space_.x);
  const Matrix z = embed(space_.z);
  if (lambda_ > 0)
    entropic_step(record, tolerance, x, z);
  else
    exact_step(record, x, z);
}

void Fit::entropic_step(Step& record, double tolerance, const Matrix& x, const Matrix& z) {
  const double unit = model_.metric.unit;
  transport_->set_points(x, z);
  TransportOptions options;
  options.tolerance = tolerance;
  options.keep_going = [this](int passes, double error) { return report(nullptr, passes, error); };
  const TransportResult result = transport_->solve(lambda_, options);
  stopped_ = stopped_ || result.stopped;
  if (learned())
    plan_ = {transport_->plan_times(space_.z), transport_->source_marginal(),
             transport_->target_marginal()};
  record.transport_cost = unit * result.cost;
  record.entropy = result.entropy;
  record.source_error = result.source_error;
  record.target_error = result.target_error;
  record.duality_gap = unit * result.gap;
  record.inner_iterations = result.passes;
  record.inner_converged = result.converged;
  keep_potentials(unit * transport_->f(), unit * transport_->g());
}

void Fit::exact_step(Step& record, const Matrix& x, const Matrix& z) {
  const double unit = model_.metric.unit;
  Matrix cost;
  squared_distances(x, z, cost);
  const ExactPlan exact = exact_transport(cost, space_.p, space_.q);
  plan_ = {Matrix::Zero(space_.x.rows(), space_.rank()), Vector::Zero(space_.p.size()),
           Vector::Zero(space_.q.size())};
  model_.exact.clear();
  for (const Mass& mass : exact.masses) {
    plan_.plan_z.row(mass.source) += mass.amount * space_.z.row(mass.target);
    plan_.rows[mass.source] += mass.amount;
    plan_.columns[mass.target] += mass.amount;
    record.entropy -= mass.amount * std::log(mass.amount);
    model_.exact.push_back({space_.source_rows[static_cast<std::size_t>(mass.source)],
                            space_.target_rows[static_cast<std::size_t>(mass.target)],
                            mass.amount});
  }
  record.transport_cost = unit * exact.cost;
  record.source_error = (plan_.rows - space_.p).lpNorm<1>();
  record.target_error = (plan_.columns - space_.q).lpNorm<1>();
  record.duality_gap = unit * exact.gap;
  record.inner_converged = true;
  keep_potentials(unit * exact.f, unit * exact.g);
}

// The numbers of the metric, and the objective.
void Fit::complete(Step& record) {
  if (learned()) {
    record.prior_term = prior_scale_ * metric_.prior_term;
    record.ridge_term = model_.metric.unit * ridge_ * metric_.trace;
    record.riccati_residual = metric_.residual;
    record.condition = metric_.condition;
  } else if (model_.metric.factor.size()) {
    const Vector values = linalg::eigenvalues(linalg::gram(model_.metric.factor));
    if (values.size()) record.condition = values[values.size() - 1] / values[0];
  }
  record.objective = record.transport_cost + record.prior_term + record.ridge_term -
                     model_.lambda * record.entropy;
}

bool Fit::report(const Step* record, int passes, double error) {
  if (!callback_) return true;
  if (!record && seconds_since(last_report_) < 0.1) return true;
  last_report_ = Clock::now();
  const int step = static_cast<int>(model_.history.size()) + (record ? 0 : 1);
  return callback_(
      {step, learned() ? options_.steps : 1, passes, error, seconds_since(start_), record});
}

// Points of weight zero take no part: no mass, potential -infinity.
void Fit::keep_potentials(const Vector& f, const Vector& g) {
  const double none = -std::numeric_limits<double>::infinity();
  model_.f = Vector::Constant(model_.source.size(), none);
  model_.g = Vector::Constant(model_.target.size(), none);
  model_.f(space_.source_rows) = f;
  model_.g(space_.target_rows) = g;
}

void Fit::finish(Outcome outcome, std::string reason) {
  model_.status = {outcome, std::move(reason)};
}

}  // namespace

Model fit(const Problem& problem, const Options& options, const Callback& callback) {
  return Fit(problem, options, callback).run();
}

}  // namespace remblai
