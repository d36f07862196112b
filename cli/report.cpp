// remblai report: what a saved model holds, as one page for a browser.
// Numbers come from the model alone; labels may be given to score and to show.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
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
#include "remblai/page.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

struct ReportCommand {
  std::string model, out, target_labels, image_size = "auto", title;
  bool quiet = false, overwrite = false;
  PredictOptions prediction;
  Resources resources;  // only what was given on the command line counts
};

void read_image_size(const std::string& text, PageOptions& page) {
  if (text == "auto") return;
  page.images = text != "none";
  if (!page.images) return;
  const char* end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, page.image_size.rows);
  const bool crossed = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
  const auto cols = std::from_chars(crossed ? rows.ptr + 1 : end, end, page.image_size.cols);
  if (!crossed || cols.ec != std::errc() || cols.ptr != end || page.image_size.rows < 1 ||
      page.image_size.cols < 1)
    throw Error({.field = "--image-size",
                 .value = fmt::format("'{}'", text),
                 .problem = "is not a size",
                 .remedy = "write rows x columns like 28x28, auto or none"});
}

int run(const ReportCommand& arguments, const CLI::App& command) {
  const Stopwatch watch;
  const std::string out =
      arguments.out.empty()
          ? std::filesystem::path(arguments.model).replace_extension(".html").string()
          : arguments.out;
  if (out == arguments.model)
    throw Error({.value = arguments.model + ":",
                 .problem = "that is a page, not a model",
                 .remedy = "give the .npz file that fit or adapt saved"});
  arguments.prediction.validate();
  PageOptions page;
  read_image_size(arguments.image_size, page);
  if (!arguments.title.empty()) page.title = arguments.title;
  Report report;
  report.prediction = arguments.prediction;
  report.spelling = flag_of;
  report.inputs = {{"model", arguments.model}};
  if (!arguments.target_labels.empty())
    report.inputs.emplace_back("target-labels", arguments.target_labels);
  require_outputs({{"--out", out, ".html"}}, report.inputs, arguments.overwrite);

  std::optional<PhaseLine> line(std::in_place, arguments.quiet, watch, "reading");
  Model model = load(arguments.model);
  if (command.count("--threads")) model.options.resources.threads = arguments.resources.threads;
  model.options.resources.validate();
  if (!arguments.target_labels.empty()) {
    if (!model.source.labelled())
      throw Error({.field = "target-labels",
                   .problem = fmt::format("the source points of {} have no labels, so there are no "
                                          "predictions to score",
                                          literal(arguments.model)),
                   .remedy = "leave it out"});
    page.target_labels = load_target_labels(arguments.target_labels, "--target-labels",
                                            model.target.size(), model.source.labels);
  }
  line.reset();
  line.emplace(arguments.quiet, watch, "writing the page");
  io::write_text(out, to_html(model, report, page));
  line.reset();
  if (!arguments.quiet) tell("the page for a browser is {}\n", printable(out));
  return Exit::success;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<ReportCommand>();
  CLI::App& command =
      *app.add_subcommand("report", "show a model on one page for a browser, without a network");
  command.add_option("MODEL", arguments->model, "what fit or adapt saved")
      ->type_name("FILE")
      ->required();
  add_file(command, "--out", arguments->out,
           "the page, a .html file [default: the model's name with .html]");
  add_file(command, "--target-labels", arguments->target_labels,
           "true labels of the target points, to score and to show");
  add_overwrite(command, arguments->overwrite);
  command
      .add_option("--image-size", arguments->image_size,
                  "rows and columns of the images that points are, like 28x28; auto recognises "
                  "square ones")
      ->type_name("auto|none|RxC")
      ->default_str(arguments->image_size)
      ->group(group::method);
  command.add_option("--title", arguments->title, "heading of the page")
      ->type_name("TEXT")
      ->group(group::method);
  add_options(command, arguments->prediction);
  add_options(command, arguments->resources, {"threads"}, "the model's own");
  add_quiet(command, arguments->quiet);
  add_help(command);
  command.callback([arguments, &action, &command] {
    action = [arguments, &command] { return run(*arguments, command); };
  });
}

}  // namespace remblai::cli
