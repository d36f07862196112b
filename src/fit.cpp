// Checks and prepares the problem, runs the alternation and puts what it reached into a Model.
#include "remblai/fit.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>

#include "alternation.h"
#include "remblai/error.h"
#include "remblai/threads.h"
#include "space.h"

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

}  // namespace

Model fit(const Problem& problem, const Options& options, const Callback& callback) {
  const auto start = Clock::now();
  validate(problem, options);
  const int threads = set_threads(options.threads);
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
  Alternation alternation(space, options, threads, Diagnostics::full, timed);
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
