// Words, tables and charts for the numbers of a model: accuracy, convergence, mass.
#include "report/page_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "remblai/diagnosis.h"

namespace remblai {
namespace {

using Lines = std::vector<std::vector<std::string>>;

/// No more steps than a chart is wide: evenly spaced, the first and the last among them.
std::vector<Step> thinned(const std::vector<Step>& history) {
  constexpr std::size_t most = 400;
  if (history.size() <= most) return history;
  std::vector<Step> shown;
  for (std::size_t k = 0; k < most; ++k)
    shown.push_back(history[k * (history.size() - 1) / (most - 1)]);
  return shown;
}

Json lines_block(const std::string& title, bool log, const std::vector<Step>& history,
                 const std::vector<std::pair<std::string, double Step::*>>& series) {
  Json block{{"kind", "lines"},     {"title", title},     {"log", log},
             {"x_title", "step"},   {"x", Json::array()}, {"series", Json::array()},
             {"none", "not finite"}};
  const std::vector<Step> shown = thinned(history);
  for (const Step& step : shown) block["x"].push_back(step.step);
  for (const auto& [name, field] : series) {
    std::vector<double> values;
    for (const Step& step : shown) values.push_back(step.*field);
    block["series"].push_back({{"name", name}, {"values", brief(values, 9)}});
  }
  return block;
}

/// How many points a score rests on, where not all have a known label, or some were given theirs.
std::string remark(const Score& score) {
  const std::string given =
      score.given > 0
          ? fmt::format("without {} whose label the fit was given", counted(score.given, "point"))
          : "";
  if (score.unknown == 0) return given;
  const std::string known = score.known() ? fmt::format("{} of {} true labels are known",
                                                        score.scored, score.scored + score.unknown)
                                          : "no true label is known";
  return given.empty() ? known : known + ", " + given;
}

}  // namespace

Index with_mass(const Domain& domain) {
  return static_cast<Index>(positive_entries(domain.weights).size());
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string PageContext::feature(Index k) const {
  constexpr std::size_t longest = 60;
  if (!model.features.empty())
    return printable(model.features[static_cast<std::size_t>(k)], longest);
  if (images()) return fmt::format("row {}, column {}", k / image.cols + 1, k % image.cols + 1);
  return fmt::format("feature {}", k + 1);
}

/// A target point without a known label is no class, unless the source has a class of that number.
std::string PageContext::label(std::int64_t value) const {
  const bool unknown = value == unknown_label && !options.class_names.contains(value) &&
                       (model.source.labels.array() != value).all();
  return unknown ? "unknown" : class_name(value, options);
}

Json PageContext::names(const Classes& classes) const {
  Json list = Json::array();
  for (const std::int64_t value : classes.shown) list.push_back(label(value));
  if (classes.others) list.push_back("others");
  return list;
}

Json accuracy_section(const PageContext& context) {
  Lines rows;
  int strong = -1;
  for (const ScoreRow& row : context.options.scores) {
    if (row.ours) strong = static_cast<int>(rows.size());
    rows.push_back({row.method, row.score.percent(), row.note});
  }
  const auto add = [&](const std::string& by, const std::optional<Score>& score) {
    if (score) rows.push_back({by, score->percent(), remark(*score)});
  };
  add("nearest source point, no adaptation, on the target points", context.baseline);
  add("this model, on the target points", context.report.target_score);
  add("this model, on the test points", context.report.test_score);
  if (rows.empty()) return nullptr;
  const bool notes =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row[2].empty(); });
  if (!notes)
    for (auto& row : rows) row.pop_back();
  std::vector<std::string> columns{"labels by", "right"};
  if (notes) columns.push_back("remark");
  return section("Accuracy",
                 {text_block("The share of points whose predicted label is the true one. Labels "
                             "that are scored were never used to fit."),
                  table_block("Accuracy", columns, rows, strong)});
}

Json classes_section(const PageContext& context) {
  if (!context.model.classes) return nullptr;
  const ClassModel& classes = *context.model.classes;
  const Diagnosis diagnosis = diagnose(classes);
  Lines rows;
  for (const ClassRow& row : class_rows(classes, 40))
    rows.push_back({context.label(row.label), percent_text(row.source_share),
                    percent_text(row.target_share), fmt::format("{:.2f}", row.moved),
                    percent_text(row.sure)});
  return section(
      "What changed",
      {text_block(fmt::format("The shift is {}. The reliability is {}.", diagnosis.shift_words,
                              diagnosis.trust_words)),
       table_block(classes.estimated ? "Classes in the source and, as estimated, in the target"
                                     : "Classes in the source and, as given, in the target",
                   {"class", "share in the source", "share in the target", "moved", "sure"}, rows),
       text_block(
           "A class moved by so many times the spread of its points. Sure is how much of its "
           "own move is beyond chance.")});
}

Json convergence_section(const PageContext& context) {
  const std::vector<Step>& history = context.model.history;
  if (history.empty()) return nullptr;
  if (history.size() == 1) {
    const Step& only = history[0];
    return section(
        "Convergence",
        {text_block("There was one step: one metric, and the plan for it."),
         table_block("The one step", {"what", "value"},
                     {{"objective", fmt::format("{:.6g}", only.objective)},
                      {"error of the row sums", fmt::format("{:.2g}", only.source_error)},
                      {"error of the column sums", fmt::format("{:.2g}", only.target_error)},
                      {"duality gap, at most", fmt::format("{:.2g}", only.duality_gap)}})});
  }
  return section(
      "Convergence",
      {text_block("One step is a new metric and the plan for it. The objective should fall and "
                  "level off; the other curves should end low."),
       lines_block("Objective", false, history, {{"objective", &Step::objective}}),
       lines_block("Change of the distances by a step", true, history,
                   {{"relative change", &Step::distance_change}}),
       lines_block("Error of the plan's marginals", true, history,
                   {{"source", &Step::source_error}, {"target", &Step::target_error}}),
       lines_block("Duality gap, at most", true, history, {{"gap", &Step::duality_gap}})});
}

Json mass_section(const PageContext& context, const PlanView& view) {
  const char* heading = "Where the mass goes";
  if (!context.model.source.labelled())
    return section(heading, {text_block("The source points have no labels, so there are no classes "
                                        "to follow.")});
  if (view.mass.size() == 0) return nullptr;
  Json shares = Json::array();
  for (Index i = 0; i < view.mass.rows(); ++i) {
    const double sum = view.mass.row(i).sum();
    std::vector<double> row;  // NaN, and so null, where there is no mass to share
    for (Index j = 0; j < view.mass.cols(); ++j) row.push_back(view.mass(i, j) / sum);
    shares.push_back(brief(row));
  }
  std::string words = "Each row follows the mass of one source class to the classes of the target";
  words += context.predicted() ? "; target labels are predicted, for the true ones were not given. "
                               : "; target labels are the true ones, which the fit never saw. ";
  words += "A row adds up to 100 %.";
  if ((view.mass.rowwise().sum().array() == 0).any()) words += " A dash: the class has no mass.";
  if (view.rows < with_mass(context.model.source))
    words += fmt::format(" Counted over {} of the {} source points, some of every class.",
                         view.rows, context.model.source.size());
  return section(heading,
                 {text_block(words),
                  {{"kind", "heat"},
                   {"caption", context.predicted() ? "From source class to predicted class, percent"
                                                   : "From source class to target class, percent"},
                   {"row_title", "source class"},
                   {"column_title", context.predicted() ? "predicted class" : "target class"},
                   {"rows", context.names(view.source_classes)},
                   {"columns", context.names(view.target_classes)},
                   {"shares", shares}}});
}

}  // namespace remblai
