// remblai fit: learns plan and metric and saves the model, for map and predict later.
// Everything is read and checked first; the file appears whole or not at all.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "progress.h"
#include "ranks.h"
#include "remblai/model_io.h"
#include "remblai/report.h"

namespace remblai::cli {
namespace {

struct Arguments {
  FitArguments fit;
  RunArguments run;
  std::string out;
};

int run(const Arguments& arguments) {
  const Stopwatch watch;
  on_first_rank([&] { require_writable(arguments.out, ".npz"); });
  const bool quiet = arguments.run.quiet;
  Problem problem;
  Options options;
  {
    const PhaseLine line(quiet, watch, "reading");
    agree(ranks().get(), [&] {
      problem = load_problem(arguments.fit);
      options = load_options(arguments.fit, problem);
    });
  }

  const Interrupt interrupt(!quiet);
  Model model = fit_with_progress(problem, options, quiet, watch);
  if (ranks()) model = gathered(model);
  on_first_rank([&] { save(model, arguments.out); });

  Report report;
  report.inputs = inputs_of(arguments.fit);
  report.spelling = flag_of;
  report.seconds = watch.seconds();
  if (!first_rank()) return conclude(model.status);
  if (arguments.run.json) {
    fmt::print("{}", to_json(model, report));
  } else if (!quiet) {
    fmt::print("{}\nwritten to {}\n", summary(model, report), arguments.out);
  }
  return conclude(model.status);
}

}  // namespace

void add_fit(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& command = *app.add_subcommand(
      "fit", "learn plan and metric between two sets of points; save the model");
  FitArguments& fit = arguments->fit;
  add_file(command, "--source", fit.source, "source points, one a row")->required();
  add_file(command, "--target", fit.target, "target points, one a row")->required();
  add_file(command, "--out", arguments->out, "the model, an .npz file")->required();
  add_file(command, "--source-labels", fit.source_labels,
           "labels of the source points, whole numbers; predict needs them");
  add_file(command, "--source-weights", fit.source_weights, "a weight for each source point");
  add_file(command, "--target-weights", fit.target_weights, "a weight for each target point");
  add_known_labels(command, fit.known_labels);
  add_skip(command, fit.skip);
  add_transpose(command, fit.transpose);
  add_options(command, fit);
  add_quiet(command, arguments->run.quiet);
  add_json(command, arguments->run.json);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli
