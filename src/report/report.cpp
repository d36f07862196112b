// The report of a run, as JSON for programs and as a few lines for people.
#include "remblai/report.h"

#include <fmt/format.h>

#include "remblai/diagnosis.h"
#include "remblai/version.h"
#include "report/json.h"
#include "report/page_shell.h"

namespace remblai {
namespace {

std::string on_points(const Score& score, std::string points) {
  if (score.given > 0)
    points += fmt::format(" without the {} whose label was given",
                          score.given == 1 ? "one" : fmt::format("{}", score.given));
  if (!score.known()) return fmt::format("unknown on the {}: no true label is known", points);
  const std::string some = score.unknown == 0
                               ? ""
                               : fmt::format(", of which {} of {} labels are known", score.scored,
                                             score.scored + score.unknown);
  return fmt::format("{} on the {}{}", score.percent(2), points, some);
}

// The labels of target points that a fit was given.
Index given_labels(const ClassModel& classes) {
  return (classes.known.array() != unknown_label).count();
}

Json classes_json(const ClassModel& classes) {
  const Diagnosis diagnosis = diagnose(classes);
  Json rows = Json::array();
  for (const ClassRow& row : class_rows(classes, static_cast<std::size_t>(classes.classes.size())))
    rows.push_back({{"label", row.label},
                    {"source_share", number(row.source_share)},
                    {"target_share", number(row.target_share)},
                    {"moved", number(row.moved)},
                    {"sure", number(row.sure)}});
  return {{"shift", name(diagnosis.shift)},
          {"shares_change", number(diagnosis.shares_change)},
          {"move", number(diagnosis.move)},
          {"reliability", number(classes.reliability)},
          {"left_out_accuracy", number(classes.left_out)},
          {"translated", classes.translated},
          {"cautious", classes.cautious},
          {"undecided", number(classes.undecided)},
          {"geodesic", number(classes.geodesic)},
          {"shares_estimated", classes.estimated},
          {"known_labels", given_labels(classes)},
          {"landmarks_missed", number(classes.head.missed)},
          {"classes", rows}};
}

std::string classes_text(const ClassModel& classes) {
  constexpr std::size_t most = 20;
  const Diagnosis diagnosis = diagnose(classes);
  std::string text = fmt::format("shift          {}\n", diagnosis.shift_words);
  text += fmt::format("reliability    {}\n", diagnosis.trust_words);
  if (!classes.estimated) text += "class shares   of the target were given, and not estimated\n";
  if (const Index given = given_labels(classes); given > 0)
    text +=
        fmt::format("known labels   of {} of the {} target points\n", given, classes.known.size());
  if (classes.head.missed > 0)
    text += fmt::format("landmarks      stand for all points; they miss {:.1f} % of the kernel\n",
                        100 * classes.head.missed);
  text += fmt::format("\n{:>12}  {:>8}  {:>8}  {:>6}  {:>5}\n", "class", "source", "target",
                      "moved", "sure");
  for (const ClassRow& row : class_rows(classes, most))
    text += fmt::format("{:>12}  {:>6.1f} %  {:>6.1f} %  {:>6.2f}  {:>3.0f} %\n", row.label,
                        100 * row.source_share, 100 * row.target_share, row.moved, 100 * row.sure);
  if (classes.classes.size() > static_cast<Index>(most))
    text += fmt::format("{:>12}  and {} more, whose shares changed less\n", "",
                        classes.classes.size() - static_cast<Index>(most));
  text +=
      "(moved: in units of the spread within classes; sure: how much of a class's own move is "
      "beyond chance)\n\n";
  return text;
}

}  // namespace

std::string weight_text(const Model& model) {
  const double given = model.options.geodesic;
  if (!model.classes || !(model.classes->geodesic < given)) return "";
  return fmt::format(", geodesic {:g} in place of {:g}, for the domains look different",
                     model.classes->geodesic, given);
}

std::string to_json(const Model& model, const Report& report) {
  const Step nothing{};
  const bool any = !model.history.empty();
  const Step& last = any ? model.history.back() : nothing;
  const auto value = [any](double x) { return any ? number(x) : Json(nullptr); };
  Json json;
  json["status"] = name(model.status.outcome);
  json["status_reason"] = words(model.status.message, report.spelling);
  json["warnings"] = Json::array();
  for (const Warning& warning : warnings(model))
    json["warnings"].push_back(warning.text(report.spelling));
  json["accuracy"] = json["scored"] = Json::object();
  const auto add_score = [&](const char* points, const std::optional<Score>& score) {
    if (!score) return;
    json["accuracy"][points] = number(score->accuracy());
    json["scored"][points] = score->scored;
  };
  add_score("target", report.target_score);
  add_score("test", report.test_score);
  json["lambda"] = model.options.lambda;
  json["lambda_absolute"] = number(model.lambda);
  json["ridge_absolute"] = number(model.ridge);
  json["objective"] = value(last.objective);
  json["transport_cost"] = value(last.transport_cost);
  json["marginal_error"] = {{"source", value(last.source_error)},
                            {"target", value(last.target_error)}};
  json["duality_gap"] = value(last.duality_gap);
  json["riccati_residual"] = value(last.riccati_residual);
  json["fixed_point_residual"] = number(model.fixed_point_residual);
  json["steps"] = model.history.size();
  json["seconds"] = report.seconds;
  json["source_points"] = model.source.size();
  json["target_points"] = model.target.size();
  json["dimension"] = model.metric.dimension();
  json["rank"] = model.metric.rank();
  json["inputs"] = Json::object();
  for (const auto& [what, file] : report.inputs) json["inputs"][what] = file;
  if (!report.files.empty()) json["files"] = report.files;
  json["prediction"] = options_json(report.prediction);
  if (model.classes) json["classes"] = classes_json(*model.classes);
  json["history"] = history_json(model.history);
  json["options"] = options_json(model.options);
  json["version"] = version();
  constexpr bool ascii = true;  // names of files may have what a terminal must not see
  return json.dump(2, ' ', ascii, Json::error_handler_t::replace) + "\n";
}

std::string summary(const Model& model, const Report& report) {
  const bool learned = model.options.metric == MetricChoice::learned;
  std::string text =
      fmt::format("{}, {}, {} (rank {})\n", counted(model.source.size(), "source point"),
                  counted(model.target.size(), "target point"),
                  counted(model.metric.dimension(), "dimension"), model.metric.rank());
  text += fmt::format("method         {}\n", name(model.options.method));
  text += fmt::format("metric         {}{}{}\n", name(model.options.metric),
                      learned ? fmt::format(", prior {}", name(model.options.prior)) : "",
                      weight_text(model));
  text += fmt::format("status         {}: {}\n", name(model.status.outcome),
                      words(model.status.message, report.spelling));
  text +=
      fmt::format("lambda         {:.4g} (absolute {:.4g})\n", model.options.lambda, model.lambda);
  if (!model.history.empty()) {
    const Step& last = model.history.back();
    text += fmt::format("transport cost {:.6g}, duality gap at most {:.1e}\n", last.transport_cost,
                        last.duality_gap);
    text += fmt::format("marginal error source {:.1e}, target {:.1e}\n", last.source_error,
                        last.target_error);
    if (model.options.relax_source > 0 || model.options.relax_target > 0)
      text += fmt::format("mass           {:.4g} of 1 moves\n", last.mass);
  }
  if (model.classes) text += classes_text(*model.classes);
  for (const Warning& warning : warnings(model))
    text += fmt::format("warning: {}\n\n", warning.text(report.spelling));
  if (report.target_score)
    text += fmt::format("accuracy       {}\n", on_points(*report.target_score, "target"));
  if (report.test_score)
    text += fmt::format("accuracy       {}\n", on_points(*report.test_score, "test points"));
  text += fmt::format("time           {:.2f} s\n", report.seconds);
  return text;
}

}  // namespace remblai
