// Checks and prepares the problem, runs the alternation and puts what it reached into a Model.
#include "remblai/fit.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>

#include "base/linalg.h"
#include "fit/alternation.h"
#include "fit/space.h"
#include "model/conditional.h"
#include "remblai/error.h"
#include "remblai/threads.h"

namespace remblai {
namespace {

using Clock = std::chrono::steady_clock;

void validate(const Problem& problem, const Options& options) {
  options.validate();
  problem.source.validate("source");
  problem.target.validate("target");
  if (problem.source.dimension() != problem.target.dimension())
    throw Error(
        fmt::format("target: points have {} coordinates, the source has {}; both need the same "
                    "features (are points in columns? then transpose)",
                    problem.target.dimension(), problem.source.dimension()));
  if (!problem.features.empty() &&
      static_cast<Index>(problem.features.size()) != problem.source.dimension())
    throw Error(fmt::format("features: {} names for {} coordinates; give one name a coordinate",
                            problem.features.size(), problem.source.dimension()));
}

// Points of weight zero take no part: no mass, potential -infinity.
Vector spread(const Vector& values, const std::vector<Index>& rows, Index size) {
  Vector all = Vector::Constant(size, -std::numeric_limits<double>::infinity());
  all(rows) = values;
  return all;
}

bool same_points(const Domain& a, const Domain& b) {
  return a.size() == b.size() && a.dimension() == b.dimension() && a.points == b.points &&
         a.weights == b.weights;
}

// The plan of a model of the same points as the place to begin, in the coordinates of the space.
Start start_from(const Model& before, const Model& now, const Space& space) {
  if (!same_points(before.source, now.source) || !same_points(before.target, now.target))
    throw Error(
        "start: the model to start from was fitted to other points, weights or preprocessing; fit "
        "without it");
  const Vector g = before.g(space.target_rows);
  if (!g.allFinite()) return {};
  if (now.options.metric != MetricChoice::learned) return {{}, g};
  PlanMoments plan{Matrix::Zero(space.x.rows(), space.rank()), space.p,
                   Vector::Zero(space.q.size())};
  const Matrix points = before.source.points(space.source_rows, Eigen::all);
  visit_conditionals(before, Direction::forward, points,
                     [&](Index first, const Matrix& conditionals) {
                       const Index count = conditionals.rows();
                       const Matrix rows = space.p.segment(first, count).asDiagonal() *
                                           Matrix(conditionals(Eigen::all, space.target_rows));
                       plan.plan_z.middleRows(first, count) = linalg::multiply(rows, space.z);
                       plan.columns += rows.colwise().sum().transpose();
                     });
  return {second_moment(space, plan), g};
}

}  // namespace

Model fit(const Problem& problem, const Options& options, const Callback& callback,
          const Model* start_model) {
  const auto start = Clock::now();
  validate(problem, options);
  const int threads = thread_count(options.threads);
  const linalg::Threads scope(threads);
  Model model;
  model.options = options;
  model.features = problem.features;
  model.scaler = fit_scaler(options.preprocess, problem.source, problem.target);
  model.source = {model.scaler.apply(problem.source.points), problem.source.labels,
                  problem.source.probabilities()};
  model.target = {model.scaler.apply(problem.target.points), problem.target.labels,
                  problem.target.probabilities()};
  const Space space = make_space(problem, model.source.points, model.target.points, options);

  // Progress counts from here, not from the first step.
  Callback timed;
  if (callback)
    timed = [&](Progress progress) {
      progress.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      return callback(progress);
    };
  const Start begin = start_model ? start_from(*start_model, model, space) : Start();
  Alternation alternation(space, options, threads, Diagnostics::full, timed, begin);
  alternation.run(options.lambda);

  model.metric = alternation.metric();
  model.lambda = alternation.lambda();
  model.ridge = alternation.ridge();
  model.f = spread(alternation.f(), space.source_rows, model.source.size());
  model.g = spread(alternation.g(), space.target_rows, model.target.size());
  for (const Mass& mass : alternation.exact())
    model.exact.push_back({space.source_rows[static_cast<std::size_t>(mass.source)],
                           space.target_rows[static_cast<std::size_t>(mass.target)], mass.amount});
  model.fixed_point_residual = alternation.fixed_point_residual();
  model.history = alternation.history();
  model.status = alternation.status();
  return model;
}

}  // namespace remblai
