// Checks and prepares a problem, runs the alternation and puts what it reached into a Model.
#include "fit/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/common_rows.h"
#include "base/linalg.h"
#include "fit/preprocess.h"
#include "fit/problem_checks.h"
#include "model/class_terms.h"
#include "model/coupling.h"
#include "remblai/error.h"
#include "remblai/threads.h"
#include "transport/engine.h"

namespace remblai {
namespace {

constexpr double tiny = std::numeric_limits<double>::min();

bool same_points(const Domain& a, const Domain& b) {
  return a.size() == b.size() && a.dimension() == b.dimension() && a.points == b.points &&
         a.weights == b.weights;
}

// Products and decompositions round by the number of their threads. Ranks that have as many threads
// together as one has alone shall find the same, so each call has one; pieces are made side by
// side.
int blas_threads(const Resources& resources) {
  return resources.comm ? 1 : thread_count(resources);
}

// Both options ask for the same first metric. A matrix that was given is never looked at twice.
bool same_metric(const Options& a, const Options& b) {
  return a.method == b.method && a.metric == b.metric.kind() &&
         a.metric.kind() != MetricChoice::given && a.prior == b.prior.kind() &&
         a.prior.kind() != PriorChoice::given && a.prior_ridge == b.prior_ridge &&
         a.ridge == b.ridge && a.ridge_unit == b.ridge_unit && a.geodesic == b.geodesic;
}

bool is_given(const Options& options) {
  return options.metric == MetricChoice::given ||
         (options.metric == MetricChoice::learned && options.prior == PriorChoice::given);
}

// Tells the callback ten times a second that the first step is being prepared. It stops once and
// for all, and on all ranks.
Pulse pulse_of(const Callback& callback, int steps, const Shard& all) {
  if (!callback && !all.divided()) return {};
  return [&, steps, last = std::chrono::steady_clock::now(), on = true]() mutable {
    const auto now = std::chrono::steady_clock::now();
    if (on && callback && now - last >= std::chrono::milliseconds(100)) {
      last = now;
      on = callback({.step = 1, .steps = steps});
    }
    return all.all(on);
  };
}

}  // namespace

Problem copy_of(const Problem& problem, int threads) {
  const linalg::Threads scope(threads);
  const auto copy = [](const Domain& domain) {
    return Domain{linalg::copy_of(domain.points), domain.labels, domain.weights};
  };
  return {copy(problem.source), copy(problem.target), problem.features, problem.known_labels};
}

Session::Session(Problem problem, const Options& options, Span span)
    : all_(options.resources.comm, problem.source.size(), thread_count(options.resources)),
      span_(span) {
  all_.agree([&] { require_usable(problem, options, all_); });
  require_alike(problem, options, all_);
  const DenseWork scope(blas_threads(options.resources), options.resources, problem.source.size(),
                        problem.target.size());
  shared_.features = problem.features;
  known_labels_ = problem.known_labels;
  const Vector p = probabilities_of(problem.source, all_);
  shared_.scaler.kind = options.preprocess;
  if (looks_at_columns(options.preprocess))  // the others need no copy of the points
    shared_.scaler = fit_scaler(options.preprocess, {problem.source.points, {}, p},
                                {problem.target.points, {}, problem.target.probabilities()}, all_);
  // Points that stay as they are are not copied, and others are not kept beside what became of
  // them.
  const auto preprocess = [&](Matrix& points, Role role) {
    const Index first = role == Role::source ? all_.first() : 0;
    if (options.preprocess != Preprocess::none)
      points = apply_from(shared_.scaler, points, role, first);
    return std::move(points);
  };
  const Vector q = problem.target.probabilities();
  all_.agree([&] {
    shared_.source = {preprocess(problem.source.points, Role::source),
                      std::move(problem.source.labels), p};
  });
  shared_.target = {preprocess(problem.target.points, Role::target),
                    std::move(problem.target.labels), q};
  space_ = std::make_unique<Space>(make_space(shared_.source, shared_.target, span, all_));
}

// A space that a given matrix fits, and planners for the weights of the points.
void Session::use_space(const Options& options) {
  const bool other_sums = classes_.has_value();  // row sums followed the classes of the last fit
  classes_.reset();
  const bool wider = is_given(options) && span_ != Span::everything;
  if (wider) {
    learner_.reset();
    span_ = Span::everything;
    space_ = std::make_unique<Space>(make_space(shared_.source, shared_.target, span_, all_));
  }
  if (!wider && !other_sums) return;
  planner_ = nullptr;
  entropic_.reset();
  exact_.reset();
}

// The metric of these options at its first state, made anew unless it is the one at hand.
void Session::use_metric(const Options& options) {
  if (learner_ && same_metric(options, metric_options_))
    return learner_->set_geodesic(options.geodesic);  // the last fit may have had another
  // What was fitted last is gone from here on, also when these options are refused.
  learner_.reset();
  planner_ = nullptr;
  first_g_.resize(0);
  const bool learned = options.metric == MetricChoice::learned;
  learner_.emplace(*space_, options,
                   classes_  ? classes_->first_moment()
                   : learned ? second_moment(space_->x, space_->z, first_plan(*space_, 0),
                                             space_->shard, space_->targets)
                             : Matrix());
  metric_options_ = options;
  ++metric_version_;
  const double cost = spread_around_mean(learner_->x(), space_->p, space_->shard) +
                      spread_around_mean(learner_->z(), space_->own_q(), space_->targets);
  mean_cost_ = cost > 0 ? cost : 1;  // 0: each cloud is one point
}

// The planner of this lambda. Its memory is kept from fit to fit.
void Session::use_planner(const Options& options) {
  const bool relative = options.lambda_unit == Unit::relative;
  const double unit = learner_->unit();
  const auto embedded = [&](double value) { return relative ? value * mean_cost_ : value / unit; };
  PlanOptions plan;
  plan.lambda = embedded(options.lambda);
  plan.relax_source = embedded(options.relax_source);
  plan.relax_target = embedded(options.relax_target);
  plan.solver = options.solver;
  lambda_ = relative ? plan.lambda * unit : options.lambda;
  if (options.lambda > 0 && !(plan.lambda > tiny && lambda_ > tiny && std::isfinite(lambda_)))
    throw Error({.field = "lambda",
                 .value = fmt::format("{} ({})", options.lambda, name(options.lambda_unit)),
                 .problem = fmt::format("comes to {:.1e} in units of the cost, which double "
                                        "precision cannot hold",
                                        lambda_),
                 .remedy = "give another $lambda or rescale the data"});
  const bool is_exact = options.lambda == 0;
  std::unique_ptr<Planner>& planner = is_exact ? exact_ : entropic_;
  if (!planner) planner = make_planner(is_exact, space_->p, space_->q, options.resources);
  const bool fresh = planner_ != planner.get();
  planner_ = nullptr;
  planner->prepare(plan);
  if (fresh && !learner_->learns() && !classes_)
    planner->take_points(learner_->released_points(), space_->targets.divided());
  planner_ = planner.get();
  // The points of one metric after another are in the same memory. The class-aware method needs
  // them beside those of the costs.
  learner_->room_from(classes_ ? MetricLearner::Room() : [this] {
    return planner_ ? planner_->released_points() : PointPair();
  });
}

// The moment of the plan that the fit begins with, and its potentials.
Matrix Session::first_moment(const Options& options, const Model* start, Vector& g) const {
  const Space& space = *space_;
  const auto of_seed = [&]() -> Matrix {
    if (options.seed == 0 || classes_ || !learner_->learns()) return learner_->first_moment();
    return second_moment(space.x, space.z, first_plan(space, options.seed), space.shard,
                         space.targets);
  };
  if (!start) return of_seed();
  if (all_.any(!same_points(start->source, shared_.source) ||
               !same_points(start->target, shared_.target)))
    throw Error({.field = "start",
                 .value = {},
                 .problem = "the model to start from was fitted to other points, weights or "
                            "preprocessing",
                 .remedy = "fit without it"});
  if (start->g.size() != shared_.target.size())
    throw Error({.field = "start",
                 .problem = "the model to start from holds no plan",
                 .remedy = "fit without it"});
  const Vector potentials = start->g(space.target_rows);
  if (!potentials.allFinite()) return of_seed();
  g = potentials / learner_->unit();
  if (!learner_->learns()) return {};
  const std::unique_ptr<Coupling> coupling = coupling_of(*start);
  PlanMoments plan{Matrix::Zero(space.x.rows(), space.rank()),
                   coupling->masses(Direction::forward)(space.source_rows),
                   Vector::Zero(space.q.size())};
  const auto add = [&](Index first, const Matrix& conditionals) {
    const Index count = conditionals.rows();
    const Matrix rows = plan.rows.segment(first, count).asDiagonal() *
                        Matrix(conditionals(Eigen::all, space.target_rows));
    plan.plan_z.middleRows(first, count) = linalg::multiply(rows, space.z);
    plan.columns += rows.colwise().sum().transpose();
  };
  coupling->visit_own(Direction::forward, space.source_rows, add);
  plan.columns = space.shard.sum_of_ranks(plan.columns);
  return second_moment(space.x, space.z, plan, space.shard);
}

void Session::fit(const Options& asked, const Run& run) {
  const Options options = asked.resolved();
  const auto start = std::chrono::steady_clock::now();
  outcomes_ = {};
  has_fit_ = false;
  options.validate();
  require_one_process(options, all_);
  if (all_.divided())
    require_same("options",
                 fingerprint({}, {}, {}, options, run.start) +
                     (run.checkpoint.path.empty() ? "" : " with a checkpoint"),
                 all_);
  const DenseWork scope(blas_threads(options.resources), options.resources, shared_.source.size(),
                        shared_.target.size());
  options_ = options;
  use_space(options);
  if (options.method == Method::class_aware)
    classes_.emplace(*space_, shared_.source.labels, known_labels_, options_);
  std::string run_of;  // whose state a checkpoint is
  if (!run.checkpoint.path.empty()) {
    const auto with = [&](const Domain& source) {
      return fingerprint(source, shared_.target, known_labels_, options, run.start);
    };
    run_of = all_.divided() ? with(summary_of(shared_.source, *space_)) : with(shared_.source);
  }
  // A model to start from is compared with all points. The class-aware method measures distances
  // between all target points and any others.
  target_divided_ = run.only && all_.divided() && !run.start;
  if (target_divided_) keep_share(*all_.comm(), shared_.target.points);
  if (target_divided_ && !classes_) space_->divide_targets();
  use_metric(options);
  use_planner(options);
  Vector g;
  const Matrix moment = first_moment(options, run.start, g);
  if (g.size() == 0) g = first_g_;
  if (g.size() > 0) planner_->start_from(g);
  // With a geodesic weight other than 1/2 the objective tells nothing about a step.
  learner_->restart(options.acceleration == Acceleration::anderson && options.geodesic == 0.5 &&
                    !classes_);
  std::optional<CheckpointFile> file;
  std::optional<RunState> resumed;
  if (!run.checkpoint.path.empty()) {
    file.emplace(run.checkpoint, run_of, all_.divided());
    all_.agree([&] {
      resumed = file->load();
      if (resumed && !fits(*resumed))
        throw Error({.field = "checkpoint",
                     .value = run.checkpoint.path + ":",
                     .problem = "it is damaged: its numbers are not those of a run of this problem",
                     .remedy = "remove it, or name another file"});
    });
    if (all_.any(resumed.has_value()) != all_.all(resumed.has_value()))
      throw Error({.field = "checkpoint",
                   .value = run.checkpoint.path + ":",
                   .problem = "not all ranks see the file",
                   .remedy = "name a place that all machines share"});
    if (all_.divided() && all_.comm()->rank() > 0) file.reset();  // one writes what all have
    if (resumed && resumed->g.size() > 0) planner_->start_from(resumed->g);
    if (resumed && resumed->history.empty()) resumed.reset();  // no more than a place to start
  }
  Callback timed;  // progress counts from here, not from the first step
  if (run.callback)
    timed = [&, on = true](Progress progress) mutable {
      const auto elapsed = std::chrono::steady_clock::now() - start;
      progress.seconds = std::chrono::duration<double>(elapsed).count();
      on = run.callback(progress) && on;  // who has said stop once means it
      return on;
    };
  if (classes_ && !resumed) {
    learner_->learn(moment);
    classes_->explain(*learner_, pulse_of(timed, options.steps, all_));
    const double unit = learner_->unit();
    classes_->choose_geodesic(*learner_);
    if (run.start && g.size() > 0 && learner_->unit() != unit)
      planner_->start_from(g * (unit / learner_->unit()));
    classes_->move_points_of(*learner_);
  }
  if (learner_->learns()) ++metric_version_;
  has_fit_ = true;
  // The residuals judge a fixed point, which a given number of steps does not look for.
  const Diagnostics diagnostics = classes_ ? Diagnostics::brief : run.diagnostics;
  outcomes_ = alternate({*space_, options_, *learner_, *planner_, classes_ ? &*classes_ : nullptr},
                        {lambda_, moment, diagnostics, timed, file ? &*file : nullptr,
                         resumed ? &*resumed : nullptr});
  if (outcomes_.first_g.size() > 0) first_g_ = outcomes_.first_g;
  // A ridge too small for the first moment is the caller's to mend, wherever the moment came from.
  if (!outcomes_.planned) {
    has_fit_ = false;
    throw Error(learner_->singular());
  }
}

// Whether a state has the shapes of this problem, and a step is left to make. Classes were
// explained before it was first saved.
bool Session::fits(const RunState& state) const {
  const Index r = space_->rank();
  const auto square = [&](const Matrix& a) {
    return a.rows() == r && a.cols() == r && a.allFinite();
  };
  const auto flattened = [&](const std::deque<Vector>& moments) {
    return std::all_of(moments.begin(), moments.end(), [&](const Vector& moment) {
      return moment.size() == r * r && moment.allFinite();
    });
  };
  const MetricLearner::State& learner = state.learner;
  if (learner_->learns() && !square(state.moment)) return false;
  if (learner.used.size() > 0 && !square(learner.used)) return false;
  if (!flattened(learner.values) || !flattened(learner.residuals)) return false;
  if (state.g.size() != 0 && (state.g.size() != space_->q.size() || !state.g.allFinite()))
    return false;
  if (std::ssize(state.history) >= options_.steps || std::isnan(state.best)) return false;
  if (!state.classes) return !classes_;
  return classes_ && classes_->fits(*state.classes);
}

void Session::require_fit() const {
  if (!has_fit_)
    throw Error({.field = "path", .problem = "it holds no fit", .remedy = "call fit first"});
}

Model Session::model() const {
  require_fit();
  return completed(shared_, ends());
}

// What the fit worked on is gone before the model is complete.
Model Session::released_model() {
  require_fit();
  has_fit_ = false;
  Ends left = ends();
  planner_ = nullptr;
  entropic_.reset();
  exact_.reset();
  classes_.reset();
  learner_->forget_points();
  space_->x.resize(0, 0);
  space_->z.resize(0, 0);
  Matrix& targets = shared_.target.points;
  if (target_divided_) targets = united(all_.with_rows(targets.rows()), targets);
  return completed(std::move(shared_), std::move(left));
}

Session::Ends Session::ends() const {
  Ends ends{planner_->f(), planner_->g(), planner_->masses(), {}};
  if (classes_) ends.classes = classes_->model();
  return ends;
}

// The last fit beside what every model of the session has.
Model Session::completed(Model model, Ends ends) const {
  model.options = options_;
  model.metric = learner_->metric();
  model.lambda = outcomes_.lambda;
  model.ridge = learner_->ridge();
  const double unit = learner_->unit();
  const Space& space = *space_;
  model.f = linalg::spread(unit * ends.f, space.source_rows, model.source.size());
  model.g = linalg::spread(unit * ends.g, space.target_rows, model.target.size());
  for (const Mass& mass : ends.masses)
    model.exact.push_back({space.source_rows[static_cast<std::size_t>(mass.source)],
                           space.target_rows[static_cast<std::size_t>(mass.target)], mass.amount});
  model.fixed_point_residual = outcomes_.fixed_point_residual;
  model.history = outcomes_.history;
  model.status = outcomes_.status;
  if (ends.classes) model.classes = class_model(std::move(*ends.classes), model.target.points);
  return model;
}

// Target points of weight 0 took no part, but the classifier has an opinion on them too.
ClassModel Session::class_model(ClassModel classes, const Matrix& targets) const {
  classes.class_cost = outcomes_.class_cost;
  classes.known = known_labels_;
  if (classes.opinions.rows() == targets.rows()) return classes;
  Matrix opinions = opinions_on(classes, learner_->metric().embed(targets));
  opinions(space_->target_rows, Eigen::all) = classes.opinions;
  classes.opinions = std::move(opinions);
  return classes;
}

}  // namespace remblai
