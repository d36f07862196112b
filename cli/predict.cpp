// remblai predict: labels for target points from a saved model.
// The rule is that of the flags; a model holds none.
#include "remblai/predict.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "outputs.h"
#include "progress.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/model_io.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

struct PredictCommand {
  std::string model, points, out;
  std::vector<std::string> skip;
  bool transpose = false, quiet = false, overwrite = false;
  PredictOptions prediction;
  Resources resources;  // only what was given on the command line counts
};

int run(const PredictCommand& arguments, const CLI::App& command) {
  const Stopwatch watch;
  require_outputs({{"--out", arguments.out, ".npy"}},
                  {{"model", arguments.model}, {"points", arguments.points}}, arguments.overwrite);
  arguments.prediction.validate();
  std::optional<PhaseLine> line(std::in_place, arguments.quiet, watch, "reading");
  Model model = load(arguments.model);
  if (!model.source.labelled()) {
    throw Error({.field = "--model",
                 .value = arguments.model + ":",
                 .problem = "the model has no labels",
                 .remedy = "fit again with $source-labels"});
  }
  if (command.count("--threads")) model.options.resources.threads = arguments.resources.threads;
  model.options.resources.validate();
  const Matrix points =
      load_points_like({"--model", model.metric.dimension(), model.features}, "--points",
                       arguments.points, arguments.transpose, arguments.skip);

  line.reset();
  line.emplace(arguments.quiet, watch, "labelling");
  const Labels labels = predict(model, points, arguments.prediction);
  io::write_npy(arguments.out, labels);
  line.reset();
  if (!arguments.quiet) {
    tell("{} points labelled, written to {}\n", labels.size(), printable(arguments.out));
  }
  return Exit::success;
}

}  // namespace

void add_predict(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<PredictCommand>();
  CLI::App& command = *app.add_subcommand("predict", "label target points with a saved model");
  add_file(command, "--model", arguments->model, "what fit (with --source-labels) or adapt saved")
      ->required();
  add_file(command, "--points", arguments->points, "target points, one a row")->required();
  add_file(command, "--out", arguments->out, "the labels, a .npy file")->required();
  add_skip(command, arguments->skip);
  add_transpose(command, arguments->transpose);
  add_overwrite(command, arguments->overwrite);
  add_options(command, arguments->prediction);
  add_options(command, arguments->resources, {"threads"}, "the model's own");
  add_quiet(command, arguments->quiet);
  add_help(command);
  command.callback([arguments, &action, &command] {
    settle_rule(command, arguments->prediction);
    action = [arguments, &command] { return run(*arguments, command); };
  });
}

}  // namespace remblai::cli
