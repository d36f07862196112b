// remblai reproduce: the paper's two experiments, each with one command, beside the paper's
// numbers. A run can be stopped at any moment and resumed; the journal in the output folder has
// what is done.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "arguments.h"
#include "commands.h"
#include "experiment.h"
#include "experiment_page.h"
#include "journal.h"
#include "outputs.h"
#include "progress.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/version.h"
#include "results.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

namespace fs = std::filesystem;
using namespace experiments;

constexpr const char* what_to_run = "What to run";

struct ReproduceCommand {
  std::string experiment, data, out, page;
  MnistSelection mnist;
  OfficeCaltechSelection office;
  int seeds = 5;
  Settings settings;
  int jobs = 0;
  bool resume = false;
  bool overwrite = false;
  bool quiet = false;
};

Settings default_settings() {
  Settings settings;
  settings.options = settings.options.resolved();
  settings.methods = {"none",         "kernel-ridge", "ot-identity", "ot-w",
                      "ot-w-inverse", "learned",      "class-aware", "class-aware-map"};
  settings.lambdas = {5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01};
  settings.ridges = {100, 10, 1};
  settings.options.outer_tolerance = 0.01;
  return settings;
}

/// In the order of the tables, whatever the order on the command line.
std::vector<std::string> ordered_methods(const std::vector<std::string>& wanted) {
  std::vector<std::string> keys;
  const bool all = std::find(wanted.begin(), wanted.end(), "all") != wanted.end();
  for (const std::string& key : wanted)
    if (key != "all") method_named(key);
  for (const auto& method : all_methods())
    if (all || std::find(wanted.begin(), wanted.end(), method.key) != wanted.end())
      keys.push_back(method.key);
  return keys;
}

/// An option that no column reads is a mistake of the caller's. Class-aware columns have their own
/// settings and rules.
void require_readers(const CLI::App& command, const Settings& settings) {
  bool transport = false, nearest = false;
  for (const std::string& key : ordered_methods(settings.methods)) {
    const experiments::Method& method = method_named(key);
    transport = transport || method.kind == Kind::entropic || method.kind == Kind::exact;
    nearest = nearest || (method.kind == Kind::source_only && method.baseline == Baseline::nearest);
  }
  const auto require = [&](bool read, const char* flag) {
    if (!read && command.count(flag) > 0)
      throw Error({.field = flag,
                   .problem = "has no meaning for these --methods",
                   .remedy = "leave it out, or ask for a method that reads it, such as learned"});
  };
  for (const char* flag : {"--lambda-grid", "--ridge-grid", "--ridge", "--prior-ridge", "--steps",
                           "--tolerance", "--outer-tolerance", "--rule", "--knn-metric"})
    require(transport, flag);
  require(transport || nearest, "--neighbours");
  if (settings.prediction.rule == Rule::head)
    throw Error({.field = "--rule",
                 .value = "head",
                 .problem = "is not for methods without a head, and the class-aware ones have it "
                            "already",
                 .remedy = "give nearest or propagate"});
}

void sort_grid(const char* flag, std::vector<double>& values) {
  for (const double value : values)
    if (!(value > 0))
      throw Error({.field = flag, .value = fmt::format("{}", value), .problem = "is not positive"});
  std::sort(values.rbegin(), values.rend());
}

Experiment load(const ReproduceCommand& arguments) {
  if (arguments.experiment == "mnist") {
    MnistSelection selection = arguments.mnist;
    selection.seeds = arguments.seeds;
    return mnist_experiment(arguments.data, selection);
  }
  OfficeCaltechSelection selection = arguments.office;
  selection.seeds = arguments.seeds;
  return office_caltech_experiment(arguments.data, selection);
}

bool on_gpu(const Resources& resources) {
  return resources.device != Device::automatic && resources.device != Device::cpu;
}

/// What the result of a task depends on.
Json settings_json(const ReproduceCommand& arguments) {
  const Settings& settings = arguments.settings;
  Json json{{"version", version()}, {"build", build()}, {"experiment", arguments.experiment}};
  if (arguments.experiment != "mnist") json["features"] = arguments.office.features;
  json["methods"] = settings.methods;
  json["lambda-grid"] = settings.lambdas;
  json["ridge-grid"] = settings.ridges;
  const Options& options = settings.options;
  json["ridge"] = options.ridge;
  json["prior-ridge"] = options.prior_ridge;
  json["steps"] = options.steps;
  json["tolerance"] = options.tolerance;
  json["outer-tolerance"] = options.outer_tolerance;
  json["rule"] = name(settings.prediction.rule);
  json["neighbours"] = settings.prediction.neighbours;
  json["knn-metric"] = name(settings.prediction.knn_metric);
  json["preprocess"] = name(options.preprocess);
  if (on_gpu(options.resources)) json["device"] = name(options.resources.device);
  return json;
}

void write_results(const std::string& folder, const Experiment& experiment, const Table& table,
                   const Journal& journal, const Json& about) {
  io::write_text(folder + "/table.md", markdown(table));
  io::write_text(folder + "/runs.csv", runs_csv(experiment, journal));
  io::write_text(folder + "/runs.json", runs_json(experiment, journal, about));
  io::write_text(folder + "/times.csv", times_csv(experiment, journal));
}

/// Makes the folder of the results, and leaves none behind when the page, which may go into it, is
/// refused.
void make_folder(const std::string& folder, const std::string& page, const Inputs& inputs,
                 bool overwrite) {
  std::vector<fs::path> made;  // innermost first
  std::error_code error;
  for (fs::path path = fs::absolute(folder, error); !error && !fs::exists(path, error);
       path = path.parent_path())
    made.push_back(path);
  fs::create_directories(folder, error);
  if (error) throw Error({.field = "--out", .value = folder + ":", .problem = error.message()});
  if (page.empty()) return;
  try {
    require_outputs({{"--report", page, ".html"}}, inputs, overwrite);
  } catch (const Error&) {
    for (const fs::path& path : made) fs::remove(path, error);
    throw;
  }
}

int run(ReproduceCommand arguments) {
  Settings& settings = arguments.settings;
  settings.options.validate();
  settings.prediction.validate();
  settings.methods = ordered_methods(settings.methods);
  sort_grid("--lambda-grid", settings.lambdas);
  sort_grid("--ridge-grid", settings.ridges);
  if (arguments.jobs < 0)
    throw Error({.field = "--jobs",
                 .value = fmt::format("{}", arguments.jobs),
                 .problem = "is less than 0"});
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int jobs = arguments.jobs > 0 ? arguments.jobs : cores;
  if (!fs::is_directory(arguments.data))
    throw Error({.field = "--data", .value = arguments.data, .problem = "is not a folder"});
  const std::string& folder = arguments.out;

  require_device(settings.options.resources);
  const Stopwatch watch;
  std::optional<PhaseLine> reading(std::in_place, arguments.quiet, watch, "reading");
  const Experiment experiment = load(arguments);
  reading.reset();
  Inputs inputs;
  for (const std::string& file : experiment.files) inputs.emplace_back("data", file);
  const std::string journal_file = folder + "/journal.jsonl";
  const bool journalled = Journal::is_at(journal_file);
  make_folder(folder, arguments.page, inputs,
              arguments.overwrite || (journalled && arguments.resume));
  // The journal knows what is its own, and lists the others as ours.
  std::vector<Output> outputs{{"--out", journal_file, ".jsonl", true}};
  for (const char* name : {"/table.md", "/runs.csv", "/runs.json", "/times.csv"})
    outputs.push_back({"--out", folder + name, fs::path(name).extension().string()});
  require_outputs(outputs, inputs, arguments.overwrite || journalled);
  const Json about = settings_json(arguments);
  Journal journal(journal_file, about, arguments.resume, arguments.overwrite);
  const Interrupt interrupt(false);
  const auto known = [&](const Task& task) { return journal.find(task) != nullptr; };
  const auto before = std::count_if(experiment.tasks.begin(), experiment.tasks.end(), known);
  if (!arguments.quiet) {
    if (!experiment.missing.empty())
      tell(stderr, "{} of the tasks cannot run, for files are missing: listed below the table\n",
           experiment.missing.size());
    if (arguments.resume)
      tell(stderr, "{} of {} draws are done already\n", before, experiment.tasks.size());
  }
  {
    TaskBar bar(arguments.quiet, experiment.tasks.size(), static_cast<std::size_t>(before));
    if (!run_tasks(experiment, settings, jobs, journal, std::ref(bar))) {
      const auto done = std::count_if(experiment.tasks.begin(), experiment.tasks.end(), known);
      tell(stderr,
           "\nstopped: {} of {} draws are done and kept in {}; the same command with "
           "--resume goes on\n",
           done, experiment.tasks.size(), printable(folder));
      return Exit::interrupted;
    }
  }
  const Table table = summarise(experiment, settings, journal);
  write_results(folder, experiment, table, journal, about);
  tell("{}", screen(table, colours(stdout)));
  if (!arguments.quiet)
    tell("\nWritten to {}: table.md, runs.csv, runs.json, times.csv, journal.jsonl\n",
         printable(folder));
  if (!arguments.page.empty())
    io::write_text(arguments.page, page(experiment, settings, table, journal));
  if (!arguments.quiet && !arguments.page.empty())
    tell("The page for a browser is {}\n", printable(arguments.page));
  if (table.chosen_not_converged == 0) return Exit::success;
  tell(stderr, "warning: {} of the fits chosen for the table did not converge; see runs.csv\n",
       table.chosen_not_converged);
  return Exit::not_converged;
}

}  // namespace

void add_reproduce(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<ReproduceCommand>();
  arguments->settings = default_settings();
  CLI::App& command = *app.add_subcommand(
      "reproduce", "run the paper's experiments and print its tables next to ours");
  command.footer(
      "--ridge, --prior-ridge, --steps, --tolerance, --outer-tolerance, --rule and --knn-metric "
      "are "
      "those of\nthe columns of transport; class-aware columns have settings of their own.\n"
      "lambda is chosen with the labels of the training half of the target, as in the paper.\n"
      "The output folder gets table.md, runs.csv and runs.json (every fit, without times, the same "
      "bytes\nfor any number of jobs and interruptions), times.csv, and journal.jsonl, from which "
      "--resume goes on.");
  command.add_option("EXPERIMENT", arguments->experiment, "mnist or office-caltech")
      ->type_name("mnist|office-caltech")
      ->required();
  add_file(command, "--data", arguments->data,
           "folder with mnist/ (the four IDX files) or office-caltech/FEATURES/", "DIR")
      ->required();
  add_file(command, "--out", arguments->out,
           "folder for the results [default: reproduce-EXPERIMENT]", "DIR");
  add_report_file(command, arguments->page);
  add_overwrite(command, arguments->overwrite);
  add_flag(command, "--resume", arguments->resume, "go on with the run in the output folder",
           group::files);

  add_integer(command, "--seeds", arguments->seeds, "draws of each task: seeds 0 to N-1",
              what_to_run);
  add_list(command, "--skew", arguments->mnist.skews, "mnist: percent of the frequent digit",
           what_to_run);
  add_list(command, "--absent", arguments->mnist.absent,
           "mnist: rows more, in which so many digits are absent from the target", what_to_run,
           "none");
  add_list(command, "--digit", arguments->mnist.digits, "mnist: the frequent digit", what_to_run);
  command
      .add_option("--features", arguments->office.features,
                  "office-caltech: decaf6, efficientnet-lite0, surf800 or another folder beside "
                  "them, or a path with a slash, with amazon, caltech, dslr and webcam as .mat or "
                  ".npz: features and labels")
      ->type_name("NAME")
      ->default_str(arguments->office.features)
      ->group(what_to_run);
  add_list(command, "--task", arguments->office.tasks,
           "office-caltech: source and target by first letters, like A-C,D-W", what_to_run,
           "all twelve");
  std::string keys = "all";
  for (const auto& method : all_methods()) keys += std::string(", ") + method.key;
  add_list(command, "--methods", arguments->settings.methods, "of " + keys, what_to_run);

  add_list(command, "--lambda-grid", arguments->settings.lambdas,
           "lambda to choose from, times the mean cost between the centred clouds under the first "
           "metric",
           group::method);
  add_list(command, "--ridge-grid", arguments->settings.ridges,
           "ridge to choose from, of ot-w, ot-w-inverse and learned-ridge, which tries --ridge too",
           group::method);
  add_options(command, arguments->settings.options,
              {"prior-ridge", "ridge", "steps", "tolerance", "outer-tolerance", "preprocess"});
  add_options(command, arguments->settings.prediction);
  add_integer(command, "--jobs", arguments->jobs,
              "tasks at a time, one thread each; 0 is one for each core", group::running);
  add_options(command, arguments->settings.options.resources, {"device"}, "cpu");
  add_flag(command, "--quiet", arguments->quiet, "no progress: only the table", group::running);
  add_help(command);
  command.callback([arguments, &command, &action] {
    const std::string& experiment = arguments->experiment;
    if (experiment != "mnist" && experiment != "office-caltech")
      throw Error(
          {.field = "reproduce",
           .value = fmt::format("'{}'", experiment),
           .problem = "is not an experiment" + suggestion(experiment, {"mnist", "office-caltech"}),
           .remedy = "give mnist or office-caltech"});
    const bool digits = experiment == "mnist";
    std::vector<const char*> other{"--skew", "--absent", "--digit"};
    if (digits) other = {"--task", "--features"};
    for (const char* flag : other)
      if (command.count(flag) > 0)
        throw Error({.field = flag,
                     .value = experiment,
                     .problem = "has no such choice",
                     .remedy = "see 'remblai reproduce --help'"});
    require_readers(command, arguments->settings);
    if (command.count("--out") == 0) arguments->out = "reproduce-" + experiment;
    if (arguments->out.empty())
      throw Error({.field = "--out", .problem = "it is empty", .remedy = "name a folder"});
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace remblai::cli
