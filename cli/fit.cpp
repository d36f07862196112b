// remblai fit: learns plan and metric and saves the model, for map and predict later.
// Everything is read and checked first; the file appears whole or not at all.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "outputs.h"
#include "progress.h"
#include "ranks.h"
#include "remblai/error.h"
#include "remblai/model_io.h"
#include "remblai/report.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

struct FitCommand {
  FitArguments fit;
  RunArguments run;
  std::string out;
  bool overwrite = false;
};

/// Whether what is there is the model of a run that was stopped, and this one goes on from it.
bool goes_on(const FitCommand& arguments) {
  std::error_code ignored;
  if (!arguments.fit.resume || !std::filesystem::exists(arguments.fit.checkpoint, ignored) ||
      !std::filesystem::is_regular_file(arguments.out, ignored))
    return false;
  try {
    return load(arguments.out).status.outcome == Outcome::stopped;
  } catch (const Error&) {
    return false;
  }
}

int run(const FitCommand& arguments) {
  const Stopwatch watch;
  const std::string& checkpoint = arguments.fit.checkpoint;
  Output out{"--out", arguments.out, ".npz"};
  on_first_rank([&] {
    out.ours = goes_on(arguments);
    require_outputs({out, {"--checkpoint", checkpoint, ".npz", arguments.fit.resume}},
                    inputs_of(arguments.fit), arguments.overwrite);
  });
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

  warn_of(problem);
  if (arguments.fit.dry_run) {
    agree(ranks().get(), [&] { tell_estimate(problem, options, arguments.run.json); });
    return Exit::success;
  }
  agree(ranks().get(), [&] { require_reachable(problem, options); });

  const Interrupt interrupt(!quiet);
  Model model = fit_with_progress(std::move(problem), options, quiet, watch,
                                  {.path = checkpoint, .resume = arguments.fit.resume});
  if (ranks()) model = gathered(std::move(model));
  on_first_rank([&] {
    write_output(out, arguments.overwrite, [&](const std::string& path) { save(model, path); });
    drop_checkpoint(checkpoint, model.status);
  });

  Report report;
  report.inputs = inputs_of(arguments.fit);
  report.spelling = flag_of;
  report.seconds = watch.seconds();
  on_first_rank([&] {
    if (arguments.run.json) {
      tell("{}", to_json(model, report));
    } else if (!quiet) {
      tell("{}\nwritten to {}\n", summary(model, report), printable(arguments.out));
    }
    if (arguments.run.json || quiet) warn_of(model);
  });
  return conclude(model.status);
}

}  // namespace

void add_fit(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<FitCommand>();
  CLI::App& command = *app.add_subcommand(
      "fit", "learn plan and metric between two sets of points; save the model");
  FitArguments& fit = arguments->fit;
  add_file(command, "--source", fit.source, "source points, one a row")->required();
  add_file(command, "--target", fit.target, "target points, one a row")->required();
  add_file(command, "--out", arguments->out, "the model, a .npz file")->required();
  add_file(command, "--source-labels", fit.source_labels,
           "labels of the source points, whole numbers; predict needs them");
  add_file(command, "--source-weights", fit.source_weights, "a weight for each source point");
  add_file(command, "--target-weights", fit.target_weights, "a weight for each target point");
  add_known_labels(command, fit.known_labels);
  add_skip(command, fit.skip);
  add_transpose(command, fit.transpose);
  add_checkpoint(command, fit);
  add_overwrite(command, arguments->overwrite);
  add_options(command, fit);
  add_dry_run(command, fit.dry_run);
  add_quiet(command, arguments->run.quiet);
  add_json(command, arguments->run.json);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli
