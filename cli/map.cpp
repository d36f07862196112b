// remblai map: points of one domain carried into the other by a saved model.
// Without points of its own it moves those that the model was fitted on.
#include "remblai/map.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "remblai/io.h"
#include "remblai/model_io.h"

namespace remblai::cli {
namespace {

struct Arguments {
  std::string model, points, out;
  bool transpose = false, inverse = false, quiet = false;
};

int run(const Arguments& arguments) {
  require_writable(arguments.out, ".npy");
  const Model model = load(arguments.model);
  Matrix points;
  if (!arguments.points.empty()) {
    points = load_points(arguments.points, "", arguments.transpose);
    require_dimension("--points", points.cols(), "--model", model.metric.dimension());
  } else if (arguments.inverse) {
    points = model.scaler.undo(model.target.points);
  }
  const Matrix mapped = arguments.inverse          ? map_back(model, points)
                        : arguments.points.empty() ? map(model)
                                                   : map(model, points);
  io::write_npy(arguments.out, mapped);
  if (!arguments.quiet) {
    fmt::print("{} points ({} coordinates) mapped into the {} domain, written to {}\n",
               mapped.rows(), mapped.cols(), arguments.inverse ? "source" : "target",
               arguments.out);
  }
  return Exit::success;
}

}  // namespace

void add_map(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& command = *app.add_subcommand("map", "move points from one domain into the other");
  add_file(command, "--model", arguments->model, "what fit or adapt saved")->required();
  add_file(command, "--out", arguments->out, "the moved points, an .npy file")->required();
  add_file(command, "--points", arguments->points,
           "points to move, one a row; without it those that the model was fitted on");
  add_transpose(command, arguments->transpose);
  add_flag(command, "--inverse", arguments->inverse,
           "from the target domain into the source domain", group::method);
  add_quiet(command, arguments->quiet);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli
