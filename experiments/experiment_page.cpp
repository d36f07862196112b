// The table beside the paper's, accuracy by task as a chart, and which lambda was chosen how often.
#include "experiment_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/page_shell.h"

namespace remblai::experiments {
namespace {

using Rows = std::vector<std::vector<std::string>>;

bool has_published(const Row& row) {
  return std::any_of(row.cells.begin(), row.cells.end(),
                     [](const Cell& cell) { return cell.published.has_value(); });
}

remblai::Json accuracy_table(const Table& table) {
  std::vector<std::string> columns{table.row_heading};
  columns.insert(columns.end(), table.methods.begin(), table.methods.end());
  Rows rows;
  for (const Row& row : table.rows) {
    std::vector<std::string> ours{row.name}, paper{row.name + ", paper"};
    for (const Cell& cell : row.cells) {
      const char* star = cell.best ? "★ " : "";
      ours.push_back(cell.error ? fmt::format("{}{:.2f} ± {:.2f}", star, cell.mean, *cell.error)
                                : fmt::format("{}{:.2f}", star, cell.mean));
      paper.push_back(cell.published ? fmt::format("{:.2f}", *cell.published) : "");
    }
    rows.push_back(ours);
    if (has_published(row)) rows.push_back(paper);
  }
  return table_block("Accuracy in percent", columns, rows);
}

/// Ours as a line, the paper's in the same colour, dashed. The average is no task.
remblai::Json accuracy_chart(const Table& table) {
  const std::size_t tasks = table.rows.size() - (table.rows.size() > 1 ? 1 : 0);
  remblai::Json block{{"kind", "lines"},
                      {"title", "Accuracy by " + table.row_heading},
                      {"log", false},
                      {"x_title", table.row_heading},
                      {"y_title", "percent"},
                      {"x", remblai::Json::array()},
                      {"series", remblai::Json::array()}};
  for (std::size_t k = 0; k < tasks; ++k) block["x"].push_back(table.rows[k].name);
  for (std::size_t m = 0; m < table.methods.size(); ++m) {
    std::vector<double> ours, paper;
    bool published = false;
    for (std::size_t k = 0; k < tasks; ++k) {
      const Cell& cell = table.rows[k].cells[m];
      ours.push_back(cell.mean);
      paper.push_back(cell.published.value_or(std::nan("")));
      published = published || cell.published;
    }
    block["series"].push_back({{"name", table.methods[m]}, {"values", brief(ours)}, {"colour", m}});
    if (published)
      block["series"].push_back({{"name", table.methods[m] + ", paper"},
                                 {"values", brief(paper)},
                                 {"colour", m},
                                 {"dashed", true}});
  }
  return block;
}

/// How many draws chose each lambda; empty when no method had a choice.
remblai::Json choice_of_lambda(const Experiment& experiment, const Settings& settings,
                               const Journal& journal) {
  std::map<double, std::map<std::string, int>> counts;
  std::vector<std::string> keys;
  for (const std::string& key : settings.methods)
    if (method_named(key).kind == Kind::entropic) keys.push_back(key);
  for (const Task& task : experiment.tasks)
    for (const Trial& run : *journal.find(task))
      if (run.chosen && std::find(keys.begin(), keys.end(), run.method) != keys.end())
        ++counts[run.lambda][run.method];
  if (counts.empty()) return nullptr;
  std::vector<std::string> columns{"lambda"};
  for (const std::string& key : keys) columns.emplace_back(method_named(key).title);
  Rows rows;
  for (auto& [lambda, chosen] : counts) {
    std::vector<std::string> row{fmt::format("{:g}", lambda)};
    for (const std::string& key : keys) row.push_back(fmt::format("{}", chosen[key]));
    rows.push_back(row);
  }
  return section("Choice of lambda",
                 {text_block("How many draws chose each value, by the labels of the training half "
                             "of the target. A choice at an end of the grid asks for a wider one."),
                  table_block("Draws that chose a lambda", columns, rows)});
}

std::string verdict(const Table& table) {
  const Row& last = table.rows.back();
  std::vector<std::string> best;
  double mean = 0;
  for (std::size_t m = 0; m < last.cells.size(); ++m) {
    if (!last.cells[m].best) continue;
    best.push_back(table.methods[m]);
    mean = last.cells[m].mean;
  }
  return fmt::format("Over {} draw{}, {} label{} the most held-out target points right: {:.2f} %.",
                     last.draws, last.draws == 1 ? "" : "s", fmt::join(best, " and "),
                     best.size() == 1 ? "s" : "", mean);
}

}  // namespace

std::string page(const Experiment& experiment, const Settings& settings, const Table& table,
                 const Journal& journal) {
  remblai::Json data;
  data["title"] = table.title;
  data["asked"] =
      "Accuracy on target points that no fit has seen, in percent: mean and standard error over "
      "the "
      "draws, beside the paper's where it has one. A star marks the best of a row.";
  data["verdict"] = verdict(table);
  data["warnings"] = remblai::Json::array();
  if (table.chosen_not_converged > 0)
    data["warnings"].push_back(
        {{"what", fmt::format("{} of the fits chosen for the table did not converge.",
                              table.chosen_not_converged)},
         {"fix", "runs.csv says which; raise --steps."}});
  for (const std::string& sentence : experiment.missing)
    data["warnings"].push_back({{"what", "Not run: " + sentence + "."},
                                {"fix", "Add the files and go on with --resume."}});
  std::vector<remblai::Json> how;
  for (std::size_t k = 1; k < table.notes.size(); ++k) how.push_back(text_block(table.notes[k]));
  data["sections"] = {section("Accuracy", {accuracy_table(table), accuracy_chart(table)})};
  if (remblai::Json choice = choice_of_lambda(experiment, settings, journal); !choice.is_null())
    data["sections"].push_back(std::move(choice));
  if (!how.empty()) data["sections"].push_back(section("How these numbers came about", how));
  return assemble_page(std::move(data));
}

}  // namespace remblai::experiments
