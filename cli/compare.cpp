// remblai compare: every method on the user's own data, in one table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "commands.h"
#include "contest.h"
#include "files.h"
#include "outputs.h"
#include "progress.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "terminal.h"
#include "words.h"

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
  Entry entry = {};
  Score score = {};
  std::string refusal = {};           // why it labelled nothing, where it was refused
  std::exception_ptr error = {};      // the same
  std::optional<double> agrees = {};  // with the class-aware labels; nothing without labels

  std::string_view outcome() const { return error ? "refused" : name(entry.status.outcome); }
};

bool labelled(const Row& row) {
  return row.entry.labels.size() > 0;
}

Row run_row(const Contender& contender, const Problem& problem, const Options& options,
            const Callback& callback, TimedModel& fitted) {
  const Stopwatch watch;
  try {
    return {run_contender(contender, problem, problem.target.points, options, callback, fitted)};
  } catch (const Error& refused) {
    Row row;
    row.entry.contender = contender;
    row.entry.seconds = watch.seconds();
    row.refusal = words_of(refused);
    row.error = std::current_exception();
    return row;
  }
}

/// The share of points on which two labellings agree.
std::optional<double> agreement(const Labels& a, const Labels& b) {
  if (a.size() == 0 || a.size() != b.size()) return std::nullopt;
  return static_cast<double>((a.array() == b.array()).count()) / static_cast<double>(a.size());
}

bool scored(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.score.known(); });
}

void print_table(const std::vector<Row>& rows) {
  const bool with_accuracy = scored(rows);
  const auto cell = [](bool known, const std::string& text) { return known ? text : "–"; };
  tell("{:<40}{}{:>14}{:>10}\n", "labels by", with_accuracy ? "  accuracy" : "", "like ours",
       "time");
  for (const Row& row : rows) {
    const Entry& entry = row.entry;
    tell("{:<40}{}{:>14}{:>8.2f} s{}\n", entry.contender.title,
         with_accuracy ? fmt::format("{:>10}", cell(row.score.known(), row.score.percent())) : "",
         cell(row.agrees.has_value(), fmt::format("{:.1f} %", 100 * row.agrees.value_or(0))),
         entry.seconds, row.outcome() == "converged" ? "" : fmt::format("   {}", row.outcome()));
  }
}

std::string json_of(const std::vector<Row>& rows) {
  const bool with_accuracy = scored(rows);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const Entry& entry = row.entry;
    nlohmann::ordered_json one{{"method", entry.contender.key},
                               {"agreement", nullptr},
                               {"seconds", entry.seconds},
                               {"status", row.outcome()}};
    if (row.agrees) one["agreement"] = *row.agrees;
    if (with_accuracy) one["accuracy"] = row.score.accuracy();  // null where it is NaN
    if (entry.reliability) one["reliability"] = *entry.reliability;
    if (!row.refusal.empty()) one["refusal"] = row.refusal;
    list.push_back(one);
  }
  return nlohmann::ordered_json{{"results", list}}.dump(2) + "\n";
}

/// Below the table: why a method labelled nothing, or did not come to its end.
int conclude_rows(const std::vector<Row>& rows) {
  int code = Exit::success;
  for (const Row& row : rows) {
    const Status& status = row.entry.status;
    if (!row.error && status.converged()) continue;
    tell(stderr, "warning: {} {}: {}\n", row.entry.contender.title,
         row.error ? "was refused" : "did not converge",
         row.error ? row.refusal : status.message.text(flag_of));
    code = Exit::not_converged;
  }
  return code;
}

int run(const CompareCommand& arguments) {
  const Stopwatch watch;
  const bool quiet = arguments.run.quiet || arguments.run.json;
  require_outputs({{"--out", arguments.out, ".json"}}, inputs_of(arguments.fit),
                  arguments.overwrite);
  std::optional<PhaseLine> reading(std::in_place, quiet, watch, "reading");
  Problem problem = load_problem(arguments.fit);
  const Options options = load_options(arguments.fit, problem);
  Labels truth;
  if (!arguments.fit.target_labels.empty())
    truth = load_target_labels(arguments.fit.target_labels, "--target-labels",
                               problem.target.size(), problem.source.labels);
  const Labels known = problem.known_labels;
  for (Index j = 0; truth.size() > 0 && j < known.size(); ++j)
    if (known[j] != unknown_label) truth[j] = unknown_label;
  reading.reset();
  warn_of(problem);
  const Interrupt interrupt(false);
  std::vector<Row> rows;
  TimedModel fitted;  // the last one
  for (const Contender* contender : contenders) {
    ProgressLine line(quiet, 2, std::string(contender->title) + ": ");
    problem.known_labels = contender->method == Method::class_aware ? known : Labels();
    rows.push_back(run_row(*contender, problem, options, std::ref(line), fitted));
    Row& row = rows.back();
    if (Interrupt::requested()) return conclude(row.entry.status);
    if (truth.size() > 0) row.score = score_of(row.entry, truth, problem.source.labels);
  }
  if (std::none_of(rows.begin(), rows.end(), labelled) && rows.front().error)
    std::rethrow_exception(rows.front().error);
  const Entry& ours = rows[rows.size() - 2].entry;
  for (Row& row : rows) row.agrees = agreement(row.entry.labels, ours.labels);
  const std::string json = json_of(rows);
  if (!arguments.out.empty()) io::write_text(arguments.out, json);
  if (arguments.run.json)
    tell("{}", json);
  else
    print_table(rows);
  if (!quiet)
    tell(
        "\n\"like ours\" is the share of target points that get the label of the class-aware "
        "method.\n");
  if (!quiet && ours.reliability)
    tell("No method has seen a target label{}.\nreliability of class-aware: {}\n",
         known.size() > 0 ? " but the class-aware one, which has the known ones" : "",
         ours.diagnosis.trust_words);
  for (const Warning& warning : ours.warnings)
    tell(quiet ? stderr : stdout, "warning: {}\n", warning.text(flag_of));
  return conclude_rows(rows);
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<CompareCommand>();
  CLI::App& command = *app.add_subcommand(
      "compare", "label target points by every method there is, and set them side by side");
  command.footer("");
  FitArguments& fit = arguments->fit;
  fit.options.method = Method::class_aware;  // which reads all of the options; rows have their own
  add_file(command, "--source", fit.source, "source points, one a row")->required();
  add_file(command, "--source-labels", fit.source_labels, "their labels, whole numbers")
      ->required();
  add_file(command, "--target", fit.target, "target points, one a row")->required();
  add_file(command, "--target-labels", fit.target_labels,
           "true labels of the target points, only to score the predicted ones");
  add_file(command, "--source-weights", fit.source_weights, "a weight for each source point");
  add_file(command, "--target-weights", fit.target_weights, "a weight for each target point");
  add_known_labels(command, fit.known_labels);
  add_file(command, "--out", arguments->out, "the table for programs, a .json file");
  add_skip(command, fit.skip);
  add_transpose(command, fit.transpose);
  add_overwrite(command, arguments->overwrite);
  add_options(command, fit, {"lambda", "preprocess", "target-shares", "threads", "memory"});
  command.get_option("--lambda")
      ->description("entropy weight of the transport rows but for the class-aware ones")
      ->default_str("0.2");
  add_quiet(command, arguments->run.quiet);
  add_json(command, arguments->run.json);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli
