// remblai map: points of one domain carried into the other by a saved model.
// Without points of its own it moves those that the model was fitted on.
#include "remblai/map.h"

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

struct MapCommand {
  std::string model, points, out;
  std::vector<std::string> skip;
  bool transpose = false, inverse = false, quiet = false, overwrite = false;
  Resources resources;  // only what was given on the command line counts
};

int run(const MapCommand& arguments, const CLI::App& command) {
  const Stopwatch watch;
  Inputs inputs{{"model", arguments.model}};
  if (!arguments.points.empty()) inputs.emplace_back("points", arguments.points);
  require_outputs({{"--out", arguments.out, ".npy"}}, inputs, arguments.overwrite);
  std::optional<PhaseLine> line(std::in_place, arguments.quiet, watch, "reading");
  Model model = load(arguments.model);
  if (command.count("--threads")) model.options.resources.threads = arguments.resources.threads;
  model.options.resources.validate();
  Matrix points;
  if (!arguments.points.empty()) {
    points = load_points_like({"--model", model.metric.dimension(), model.features}, "--points",
                              arguments.points, arguments.transpose, arguments.skip);
  } else if (arguments.inverse) {
    points = model.scaler.undo(model.target.points);
  }
  line.reset();
  line.emplace(arguments.quiet, watch, "mapping");
  const Matrix mapped = arguments.inverse          ? map_back(model, points)
                        : arguments.points.empty() ? map(model)
                                                   : map(model, points);
  io::write_npy(arguments.out, mapped);
  line.reset();
  if (!arguments.quiet) {
    tell("{} points ({} coordinates) mapped into the {} domain, written to {}\n", mapped.rows(),
         mapped.cols(), arguments.inverse ? "source" : "target", printable(arguments.out));
  }
  return Exit::success;
}

}  // namespace

void add_map(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<MapCommand>();
  CLI::App& command = *app.add_subcommand("map", "move points from one domain into the other");
  add_file(command, "--model", arguments->model, "what fit or adapt saved")->required();
  add_file(command, "--out", arguments->out, "the moved points, a .npy file")->required();
  add_file(command, "--points", arguments->points,
           "points to move, one a row; without it those that the model was fitted on");
  add_skip(command, arguments->skip);
  add_transpose(command, arguments->transpose);
  add_overwrite(command, arguments->overwrite);
  add_flag(command, "--inverse", arguments->inverse,
           "from the target domain into the source domain", group::method);
  add_options(command, arguments->resources, {"threads"}, "the model's own");
  add_quiet(command, arguments->quiet);
  add_help(command);
  command.callback([arguments, &action, &command] {
    action = [arguments, &command] { return run(*arguments, command); };
  });
}

}  // namespace remblai::cli
