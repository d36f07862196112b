// What of a problem cannot be fitted; found before anything is computed.
#include "fit/problem_checks.h"

#include <fmt/format.h>

#include "fit/checkpoint.h"
#include "remblai/error.h"

namespace remblai {

void require_usable(const Problem& problem, const Options& options, const Shard& all) {
  options.validate();
  problem.source.validate("source", all.total(problem.source.size()) > problem.source.size());
  problem.target.validate("target");
  if (problem.source.dimension() != problem.target.dimension())
    throw Error({.field = "target",
                 .value = fmt::format("points of {} coordinates", problem.target.dimension()),
                 .problem = fmt::format("do not fit a source of {}", problem.source.dimension()),
                 .remedy = "both need the same features (are points in columns? then transpose)"});
  if (!problem.features.empty() &&
      static_cast<Index>(problem.features.size()) != problem.source.dimension())
    throw Error({.field = "features",
                 .value = fmt::format("{} names", problem.features.size()),
                 .problem = fmt::format("for {} coordinates", problem.source.dimension()),
                 .remedy = "give one name a coordinate"});
  if (problem.known_labels.size() > 0 && options.method == Method::paper)
    throw Error({.field = "known-labels",
                 .value = {},
                 .problem = "are of no use to the method paper",
                 .remedy = "give the $method class-aware"});
  if (problem.known_labels.size() > 0 && problem.known_labels.size() != problem.target.size())
    throw Error(
        {.field = "known-labels",
         .value = fmt::format("{} labels", problem.known_labels.size()),
         .problem = fmt::format("for {} target points", problem.target.size()),
         .remedy = fmt::format("give one label a point, {} where it is not known", unknown_label)});
}

Vector probabilities_of(const Domain& source, const Shard& all) {
  if (!all.divided()) return source.probabilities();
  const Index total = all.total(source.size());
  if (!all.any(source.weights.size() > 0))
    return Vector::Constant(source.size(), 1.0 / static_cast<double>(total));
  all.agree([&] {
    if (source.weights.size() != source.size())
      throw Error({.field = "source-weights",
                   .problem = "some ranks have weights and some have none",
                   .remedy = "give weights on all ranks or on none"});
  });
  const Vector weights = all.everywhere(source.weights);
  if (weights.maxCoeff() == 0)
    throw Error({.field = "source weights",
                 .problem = "all are zero",
                 .remedy = "at least one must be positive"});
  return Domain{Matrix(total, 0), {}, weights}.probabilities().segment(all.first(), source.size());
}

void require_alike(const Problem& problem, const Options& options, const Shard& all) {
  if (!all.divided() || all.comm()->size() == 1) return;
  require_same("options", fingerprint({}, {}, {}, options, nullptr), all);
  require_same("target", fingerprint({}, problem.target, problem.known_labels, {}, nullptr), all);
  const bool some = problem.source.size() > 0, labelled = problem.source.labelled();
  if (all.any(some && labelled) && all.any(some && !labelled))
    throw Error({.field = "source-labels",
                 .problem = "some ranks have labels and some have none",
                 .remedy = "give labels on all ranks or on none"});
}

void require_same(const char* field, const std::string& here, const Shard& all) {
  if (!all.divided() || all.comm()->size() == 1) return;
  std::string first = here;
  all.comm()->broadcast(first, 0);
  if (all.any(first != here))
    throw Error({.field = field,
                 .problem = "the ranks were not given the same",
                 .remedy = "give every rank the same options, target, known labels, checkpoint and "
                           "model to start from; its own are rows of the source alone"});
}

void require_one_process(const Options& options, const Shard& all) {
  if (!all.divided() || all.comm()->size() == 1) return;
  const auto refuse = [&](const char* field, const char* value, const char* remedy) {
    throw Error({.field = field,
                 .value = value,
                 .problem = "works in one process, and these are several",
                 .remedy = remedy});
  };
  if (options.lambda == 0)
    refuse("lambda", "0", "give a positive $lambda, or start the program without mpirun");
}

}  // namespace remblai
