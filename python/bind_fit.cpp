// fit, and many fits of one problem.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "options.h"
#include "remblai/comm.h"
#include "remblai/error.h"
#include "remblai/estimate.h"
#include "remblai/fit.h"
#include "remblai/fit_path.h"
#include "watch.h"

namespace remblai::python {
namespace {

using namespace nb::literals;

// The arrays of a problem, as Python gives them.
struct Given {
  MatrixIn source, target;
  std::optional<LabelsIn> source_labels, target_labels;
  std::optional<VectorIn> source_weights, target_weights;
  std::optional<LabelsIn> known_labels;
  std::vector<std::string> features;

  // Copies; needs no lock.
  Problem problem() const {
    return {{read(source), value_or_empty<Labels>(source_labels),
             value_or_empty<Vector>(source_weights)},
            {read(target), value_or_empty<Labels>(target_labels),
             value_or_empty<Vector>(target_weights)},
            features,
            value_or_empty<Labels>(known_labels)};
  }
};

Options options_for(const Given& given, const nb::dict& keywords) {
  const Options options = options_from(keywords);
  if (given.known_labels && options.method != Method::class_aware)
    throw Error({.field = "known-labels",
                 .problem = "they are of no use to the method paper",
                 .remedy = "give the $method class-aware"});
  return options;
}

std::tuple<Model, nb::object> fit_model(const Given& given, const nb::dict& keywords,
                                        nb::object callback, const Model* start,
                                        const std::optional<std::filesystem::path>& checkpoint,
                                        std::optional<int> comm) {
  const std::shared_ptr<const Comm> ranks = comm ? mpi_comm(*comm) : nullptr;
  Options options;
  agree(ranks.get(), [&] { options = options_for(given, keywords); });
  options.resources.comm = ranks;
  Watch watch(std::move(callback));
  Checkpoint file;
  std::optional<Message> no_checkpoint;
  if (checkpoint) {
    file.path = checkpoint->string();
    file.resume = true;
    file.warn = [&](const Message& message) { no_checkpoint = message; };
  }
  Model model = unlocked([&] {
    Problem problem;
    agree(ranks.get(), [&] {
      problem = given.problem();
      require_reach(problem, options);
    });
    return fit(
        std::move(problem), options, [&](const Progress& progress) { return watch(progress); },
        start, file);
  });
  watch.finish();
  if (no_checkpoint)
    nb::module_::import_("remblai._calls")
        .attr("warn")("no checkpoint: " + no_checkpoint->text(),
                      nb::module_::import_("builtins").attr("RuntimeWarning"));
  return {std::move(model), watch.error()};
}

}  // namespace

void bind_fit(nb::module_& core) {
  nb::class_<Given>(core, "Problem", "The arrays of a fit, checked and converted by the package.")
      .def(
          "__init__",
          [](Given* self, const MatrixIn& source, const MatrixIn& target,
             const std::optional<LabelsIn>& source_labels,
             const std::optional<LabelsIn>& target_labels,
             const std::optional<VectorIn>& source_weights,
             const std::optional<VectorIn>& target_weights,
             const std::optional<LabelsIn>& known_labels,
             const std::vector<std::string>& features) {
            new (self) Given{source,         target,         source_labels, target_labels,
                             source_weights, target_weights, known_labels,  features};
          },
          "source"_a, "target"_a, "source_labels"_a = nb::none(), "target_labels"_a = nb::none(),
          "source_weights"_a = nb::none(), "target_weights"_a = nb::none(),
          "known_labels"_a = nb::none(), "features"_a = std::vector<std::string>());
  core.def("fit", fit_model, "problem"_a, "options"_a = nb::dict(), "callback"_a = nb::none(),
           "start"_a = nb::none(), "checkpoint"_a = nb::none(), "comm"_a = nb::none(),
           "(model, what stopped it: an exception or None)");
  core.def("has_mpi", has_mpi, "whether this build has MPI, for `fit(comm=...)`");
  core.def(
      "share_of",
      [](Index points, int rank, int size) {
        if (points < 0 || size < 1 || rank < 0 || rank >= size)
          throw Error({.field = "share_of",
                       .value = fmt::format("points {}, rank {}, size {}", points, rank, size),
                       .problem = "is out of range",
                       .remedy = "ranks count from 0 and are fewer than size"});
        const auto [first, last] = share_of(points, rank, size);
        return nb::slice(first, last);
      },
      "points"_a, "rank"_a, "size"_a,
      nb::sig("def share_of(points: int, rank: int, size: int) -> slice"),
      "the rows that a rank should take of so many source points of positive weight");
  nb::class_<FitPath>(core, "FitPath", "Fits of one problem, one after another.")
      .def(
          "__init__",
          [](FitPath* self, const Given& given, const nb::dict& keywords, const MatrixIn& points) {
            const Options options = options_for(given, keywords);
            unlocked([&] {
              const Problem problem = given.problem();
              require_reach(problem, options);
              new (self) FitPath(problem, options, read(points));
            });
          },
          "problem"_a, "options"_a, "points"_a)
      .def(
          "fit",
          [](FitPath& path, const nb::dict& keywords, nb::object callback) {
            const Options options = options_from(keywords);
            Watch watch(std::move(callback));
            unlocked([&] {
              path.fit(options, [&](const Progress& progress) { return watch(progress); });
            });
            watch.finish();
            return watch.error();
          },
          "options"_a, "callback"_a = nb::none(), "what stopped it: an exception or None")
      .def(
          "labels",
          [](const FitPath& path, const nb::kwargs& keywords) {
            const PredictOptions options = prediction_from(keywords);
            return give(unlocked([&] { return path.labels(options); }));
          },
          "options"_a, nb::sig("def labels(self, **options: object) -> NDArray[numpy.int64]"),
          "of the target points, then of the further points")
      .def("model", [](const FitPath& path) { return unlocked([&] { return path.model(); }); });
}

}  // namespace remblai::python
