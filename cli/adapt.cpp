// remblai adapt: fit, map and predict in one go, into one folder.
// Everything is read and checked first and written last.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "progress.h"
#include "remblai/fit.h"
#include "remblai/io.h"
#include "remblai/map.h"
#include "remblai/model_io.h"
#include "remblai/predict.h"
#include "remblai/report.h"

namespace remblai::cli {
namespace {

struct Arguments {
  FitArguments fit;
  RunArguments run;
  std::string test, test_labels, out;
  bool save_plan = false, save_metric = false, propagate = false;
};

/// Points to label, and their labels when they are known.
struct Scored {
  Matrix points;
  Labels truth, predicted;

  std::optional<double> accuracy() const {
    if (truth.size() == 0) return std::nullopt;
    return remblai::accuracy(predicted, truth);
  }
};

Labels label(const Model& model, const Matrix& points, bool through_plan) {
  return through_plan ? most_likely(propagate(model, points)) : predict(model, points);
}

Scored load_test(const Arguments& arguments, Index dimension) {
  Scored test;
  if (arguments.test.empty()) return test;
  test.points = load_points(arguments.test, arguments.fit.transpose, arguments.fit.skip,
                            {arguments.test_labels});
  require_dimension("--test", test.points.cols(), "--source", dimension);
  if (!arguments.test_labels.empty()) {
    test.truth = load_labels(arguments.test_labels, "--test-labels", test.points.rows());
  }
  return test;
}

int run(const Arguments& arguments) {
  const Stopwatch watch;
  const Problem problem = load_problem(arguments.fit);
  Scored target, test = load_test(arguments, problem.source.dimension());
  if (!arguments.fit.target_labels.empty()) {
    target.truth =
        load_labels(arguments.fit.target_labels, "--target-labels", problem.target.size());
  }
  OutputFolder folder(arguments.out);

  const Interrupt interrupt;
  Model model;
  {
    ProgressLine line(arguments.run.quiet, 0.5);
    model = fit(problem, arguments.fit.options, std::ref(line));
  }

  target.predicted = label(model, problem.target.points, arguments.propagate);
  if (test.points.size() > 0) test.predicted = label(model, test.points, arguments.propagate);
  save(model, folder.file("model.npz"));
  io::write_npy(folder.file("mapped.npy"), map(model));
  io::write_npy(folder.file("labels.npy"), target.predicted);
  if (test.points.size() > 0) io::write_npy(folder.file("test_labels.npy"), test.predicted);
  if (arguments.save_plan) io::write_npy(folder.file("plan.npy"), plan(model));
  if (arguments.save_metric) io::write_npy(folder.file("metric.npy"), model.metric.matrix());
  const Report report{.target_accuracy = target.accuracy(),
                      .test_accuracy = test.accuracy(),
                      .seconds = watch.seconds()};
  const std::string json = to_json(model, report);
  io::write_text(folder.file("report.json"), json);
  folder.publish();

  if (arguments.run.json) {
    fmt::print("{}", json);
  } else if (!arguments.run.quiet) {
    fmt::print("{}\nwritten to {}: {}\n", summary(model, report), arguments.out,
               fmt::join(folder.names(), ", "));
  }
  return conclude(model.status);
}

}  // namespace

void add_adapt(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& command = *app.add_subcommand(
      "adapt",
      "fit, map and predict in one go: labels for target points from labelled source points");
  FitArguments& fit = arguments->fit;
  add_file(command, "--source", fit.source, "source points, one a row")->required();
  add_file(command, "--source-labels", fit.source_labels, "their labels, whole numbers")
      ->required();
  add_file(command, "--target", fit.target, "target points, one a row")->required();
  add_file(command, "--out", arguments->out, "folder for the results; made if it is not there",
           "DIR")
      ->required();
  add_file(command, "--target-labels", fit.target_labels,
           "true labels of the target points, only to score the predicted ones");
  add_file(command, "--test", arguments->test, "more target points, kept out of the fit, to label");
  add_file(command, "--test-labels", arguments->test_labels, "their true labels, only to score")
      ->needs("--test");
  add_file(command, "--source-weights", fit.source_weights, "a weight for each source point");
  add_file(command, "--target-weights", fit.target_weights, "a weight for each target point");
  add_skip(command, fit.skip);
  add_transpose(command, fit.transpose);
  add_flag(command, "--save-plan", arguments->save_plan, "write the transport plan to plan.npy",
           group::files);
  add_flag(command, "--save-metric", arguments->save_metric,
           "write the metric A (d x d) to metric.npy", group::files);
  add_options(command, fit);
  add_propagate(command, arguments->propagate);
  add_quiet(command, arguments->run.quiet);
  add_json(command, arguments->run.json);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli
