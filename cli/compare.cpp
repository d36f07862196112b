// remblai compare: every method on the user's own data, in one table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "commands.h"
#include "contest.h"
#include "files.h"
#include "outputs.h"
#include "progress.h"
#include "remblai/io.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

struct CompareCommand {
  FitArguments fit;
  RunArguments run;
  std::string out;
  bool overwrite = false;
};

const std::array contenders{&no_adaptation, &logistic,       &kernel_ridge, &kernel_ridge_shares,
                            &ot_identity,   &ot_w,           &ot_w_inverse, &paper_method,
                            &class_aware,   &class_aware_map};

struct Row {
  Entry entry;
  double agrees = 0;  // with the class-aware labels
  std::optional<Score> score;
};

void print_table(const std::vector<Row>& rows) {
  const bool scored = rows.front().score && rows.front().score->known();
  tell("{:<40}{}{:>14}{:>10}\n", "labels by", scored ? "  accuracy" : "", "like ours", "time");
  for (const Row& row : rows) {
    const Entry& entry = row.entry;
    tell("{:<40}{}{:>12.1f} %{:>8.2f} s{}\n", entry.contender.title,
         scored ? fmt::format("{:>10}", row.score->percent()) : "", 100 * row.agrees, entry.seconds,
         entry.status.converged() ? "" : fmt::format("   {}", name(entry.status.outcome)));
  }
}

std::string json_of(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const Entry& entry = row.entry;
    nlohmann::ordered_json one{{"method", entry.contender.key},
                               {"agreement", row.agrees},
                               {"seconds", entry.seconds},
                               {"status", name(entry.status.outcome)}};
    if (row.score && row.score->known()) one["accuracy"] = row.score->accuracy();
    if (entry.reliability) one["reliability"] = *entry.reliability;
    list.push_back(one);
  }
  return nlohmann::ordered_json{{"results", list}}.dump(2) + "\n";
}

int run(const CompareCommand& arguments) {
  const Stopwatch watch;
  const bool quiet = arguments.run.quiet || arguments.run.json;
  require_outputs({{"--out", arguments.out, ".json"}}, inputs_of(arguments.fit),
                  arguments.overwrite);
  std::optional<PhaseLine> reading(std::in_place, quiet, watch, "reading");
  const Problem problem = load_problem(arguments.fit);
  Labels truth;
  if (!arguments.fit.target_labels.empty())
    truth = load_target_labels(arguments.fit.target_labels, "--target-labels",
                               problem.target.size(), problem.source.labels);
  reading.reset();
  warn_of(problem, quiet);
  const Interrupt interrupt(false);
  std::vector<Row> rows;
  Model model;  // the last one fitted
  for (const Contender* contender : contenders) {
    ProgressLine line(quiet, 2, std::string(contender->title) + ": ");
    rows.push_back({run_contender(*contender, problem, problem.target.points, arguments.fit.options,
                                  std::ref(line), &model),
                    0, std::nullopt});
    if (Interrupt::requested()) return conclude(rows.back().entry.status);
    if (truth.size() > 0 && rows.back().entry.labels.size() > 0)
      rows.back().score = evaluate(rows.back().entry.labels, truth, problem.source.labels);
  }
  const Entry& ours = rows[rows.size() - 2].entry;
  for (Row& row : rows) row.agrees = agreement(row.entry.labels, ours.labels);
  const std::string json = json_of(rows);
  if (!arguments.out.empty()) io::write_text(arguments.out, json);
  if (arguments.run.json) {
    tell("{}", json);
    return Exit::success;
  }
  print_table(rows);
  if (quiet) return Exit::success;
  tell(
      "\n\"like ours\" is the share of target points that get the label of the class-aware "
      "method.\n"
      "No method has seen a target label. Its reliability is {:.2f}: so many source labels come "
      "back right\nthrough the guessed target labels{}.\n",
      ours.reliability.value_or(0),
      ours.reliability.value_or(0) < 0.8 ? "; below 0.8 no row can be trusted much" : "");
  return Exit::success;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<CompareCommand>();
  CLI::App& command = *app.add_subcommand(
      "compare", "label target points by every method there is, and set them side by side");
  command.footer("");
  FitArguments& fit = arguments->fit;
  add_file(command, "--source", fit.source, "source points, one a row")->required();
  add_file(command, "--source-labels", fit.source_labels, "their labels, whole numbers")
      ->required();
  add_file(command, "--target", fit.target, "target points, one a row")->required();
  add_file(command, "--target-labels", fit.target_labels,
           "true labels of the target points, only to score the predicted ones");
  add_file(command, "--source-weights", fit.source_weights, "a weight for each source point");
  add_file(command, "--target-weights", fit.target_weights, "a weight for each target point");
  add_file(command, "--out", arguments->out, "the table for programs, a .json file");
  add_skip(command, fit.skip);
  add_transpose(command, fit.transpose);
  add_overwrite(command, arguments->overwrite);
  add_options(command, fit.options, {"lambda", "preprocess", "threads", "memory"});
  command.get_option("--lambda")
      ->description("entropy weight of the transport rows but for the class-aware ones")
      ->default_str("0.2");
  add_quiet(command, arguments->run.quiet);
  add_json(command, arguments->run.json);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli
