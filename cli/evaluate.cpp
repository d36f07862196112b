// remblai evaluate: how many predicted labels are right, by class, and what the wrong ones are
// taken for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "progress.h"
#include "remblai/evaluate.h"
#include "remblai/io.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

struct EvaluateCommand {
  std::string predicted, labels;
  bool json = false;
};

/// The points of one true class.
struct Class {
  Index points = 0;
  Index right = 0;
  std::map<std::int64_t, Index> taken_for;  // wrong labels and how often each was given

  double recall() const { return static_cast<double>(right) / static_cast<double>(points); }
};

using Classes = std::map<std::int64_t, Class>;

Classes count(const Labels& predicted, const Labels& truth, bool all_known) {
  Classes classes;
  for (Index i = 0; i < truth.size(); ++i) {
    if (!all_known && truth[i] == unknown_label) continue;
    Class& one = classes[truth[i]];
    ++one.points;
    if (predicted[i] == truth[i]) {
      ++one.right;
    } else {
      ++one.taken_for[predicted[i]];
    }
  }
  return classes;
}

/// The most frequent wrong label of a class; the smaller one of two as frequent.
std::pair<std::int64_t, Index> worst(const Class& one) {
  return *std::max_element(one.taken_for.begin(), one.taken_for.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

void print_table(const Classes& classes, const Score& score) {
  if (!score.known()) {
    tell("accuracy unknown: none of the {} true labels is known\n", score.unknown);
    return;
  }
  tell("accuracy {} of {} points{}\n\n", score.percent(2), score.scored,
       score.unknown == 0 ? "" : fmt::format(", {} more have no known label", score.unknown));
  tell("{:>8}{:>9}{:>8}{:>10}   {}\n", "class", "points", "right", "recall",
       "most often taken for");
  for (const auto& [label, one] : classes) {
    tell("{:>8}{:>9}{:>8}{:>8.1f} %", label, one.points, one.right, 100 * one.recall());
    if (one.taken_for.empty()) {
      tell("\n");
    } else {
      const auto [other, times] = worst(one);
      tell("   {} ({} times)\n", other, times);
    }
  }
}

void print_json(const Classes& classes, const Score& score) {
  nlohmann::ordered_json json{{"accuracy", nullptr}, {"points", score.scored}};
  if (score.known()) json["accuracy"] = score.accuracy();
  json["unknown"] = score.unknown;
  json["classes"] = nlohmann::ordered_json::array();
  for (const auto& [label, one] : classes) {
    nlohmann::ordered_json entry{
        {"label", label}, {"points", one.points}, {"right", one.right}, {"recall", one.recall()}};
    entry["taken_for"] = nlohmann::ordered_json::object();
    for (const auto& [other, times] : one.taken_for) {
      entry["taken_for"][std::to_string(other)] = times;
    }
    json["classes"].push_back(std::move(entry));
  }
  tell("{}\n", json.dump(2));
}

int run(const EvaluateCommand& arguments) {
  Labels truth = io::read_target_labels(arguments.labels);
  const Labels predicted = load_labels(arguments.predicted, "--predicted", truth.size());
  Labels all(predicted.size() + truth.size());  // the nearest to those of the source
  all << predicted, truth;
  const bool all_known = minus_one_is_class(all);
  if (all_known) {
    truth = load_target_labels(arguments.labels, "--labels", truth.size(), all);
    warn_of_minus_one();
  }
  const Score score = evaluate(predicted, truth, all);
  (arguments.json ? print_json : print_table)(count(predicted, truth, all_known), score);
  return Exit::success;
}

}  // namespace

void add_evaluate(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<EvaluateCommand>();
  CLI::App& command = *app.add_subcommand("evaluate", "score predicted labels against true ones");
  add_file(command, "--predicted", arguments->predicted, "predicted labels")->required();
  add_file(command, "--labels", arguments->labels,
           "true labels, in the same order; NaN or -1 where one is not known (-1 is a class where "
           "there are -1 and 1 alone)")
      ->required();
  add_json(command, arguments->json);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli
