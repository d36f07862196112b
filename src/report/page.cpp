// The page of a model: what was asked, what came of it, and the sections in order.
#include "remblai/page.h"

#include <fmt/format.h>

#include <cmath>

#include "base/linalg.h"
#include "model/coupling.h"
#include "remblai/error.h"
#include "remblai/evaluate.h"
#include "remblai/predict.h"
#include "report/page_sections.h"

namespace remblai {
namespace {

std::string asked(const Model& model) {
  const bool learned = model.options.metric == MetricChoice::learned;
  const Index classes = classes_of(model.source.labels).size();
  return fmt::format("Carry {}{} onto {}, each with {}, {}.",
                     counted(model.source.size(),
                             model.source.labelled() ? "labelled source point" : "source point"),
                     model.source.labelled() ? " of " + counted(classes, "class", "es") : "",
                     counted(model.target.size(), "target point"),
                     counted(model.metric.dimension(), "feature"),
                     learned ? "and learn the metric that makes it cheap"
                             : fmt::format("in the fixed metric {}", name(model.options.metric)));
}

std::string verdict(const Model& model, const Report& report, bool predicted) {
  const std::string steps = counted(static_cast<Index>(model.history.size()), "step");
  std::string words;
  switch (model.status.outcome) {
    case Outcome::converged:
      words = "The fit converged after " + steps;
      break;
    case Outcome::iteration_limit:
      words = "The fit did not converge within " + steps;
      break;
    case Outcome::stopped:
      words = "The fit was stopped after " + steps;
      break;
    case Outcome::diverged:
      words = "The fit broke down after " + steps;
      break;
  }
  const auto right = [&](const Score& score, const char* points) {
    if (!score.known())
      return fmt::format(
          "{}; no true label of the {} points is known, so how many predictions are "
          "right is unknown.",
          words, points);
    return fmt::format("{}; {} of the {} points{}{} get the right label.", words, score.percent(),
                       points, score.unknown > 0 ? " with a known label" : "",
                       score.given > 0 ? " that the fit was not given a label of" : "");
  };
  if (report.test_score) return right(*report.test_score, "test");
  if (report.target_score) return right(*report.target_score, "target");
  return words +
         (predicted ? "; true labels were not given, so how many predictions are right is unknown."
                    : ".");
}

Json facts(const Model& model, const Report& report) {
  std::vector<std::vector<std::string>> rows;
  const Options& options = model.options;
  const auto add = [&](const std::string& what, const std::string& value) {
    rows.push_back({what, value});
  };
  add("metric", options.metric == MetricChoice::learned
                    ? fmt::format("learned, prior {}{}", name(options.prior), weight_text(model))
                    : std::string(name(options.metric)));
  add("entropy weight lambda",
      model.lambda == 0 ? std::string("0: exact transport")
      : options.lambda_unit == Unit::relative
          ? fmt::format("{:g} × the mean cost = {:.4g}", options.lambda, model.lambda)
          : fmt::format("{:.4g}", model.lambda));
  if (options.metric == MetricChoice::learned)
    add("ridge", options.ridge_unit == Unit::relative
                     ? fmt::format("{:g} × {} = {:.4g}", options.ridge,
                                   options.prior == PriorChoice::spread ? "the unit of the prior"
                                                                        : "the mean eigenvalue",
                                   model.ridge)
                     : fmt::format("{:.4g}", model.ridge));
  add("preprocessing", std::string(name(options.preprocess)));
  add("dimension of the data's span",
      fmt::format("{} of {}", model.metric.rank(), model.metric.dimension()));
  if (!model.history.empty()) {
    const Step& last = model.history.back();
    add("transport cost", fmt::format("{:.5g}", last.transport_cost));
    if (std::isfinite(last.condition))
      add("condition number of the metric", fmt::format("{:.3g}", last.condition));
  }
  add("status", fmt::format("{}: {}", name(model.status.outcome),
                            words(model.status.message, report.spelling)));
  if (report.seconds > 0) add("time", fmt::format("{:.2f} s", report.seconds));
  for (const auto& [what, file] : report.inputs) add("file: " + what, file);
  return table_block("Settings and files", {"what", "value"}, rows);
}

void require_size(const char* what, const Labels& labels, const Model& model) {
  if (labels.size() != 0 && labels.size() != model.target.size())
    throw Error({.field = what,
                 .value = fmt::format("{} labels", labels.size()),
                 .problem = fmt::format("for {} target points", model.target.size()),
                 .remedy = "give one label a point"});
}

Labels predicted_labels(const Model& model, const Report& report) {
  const Matrix points = model.scaler.undo(model.target.points);
  return predict(model, points, report.prediction);
}

bool any_known(const Labels& truth, const Labels& source) {
  return truth.size() > 0 && (minus_one_is_class(source) || (truth.array() != unknown_label).any());
}

PageContext context_of(const Model& model, const Report& report, const PageOptions& options) {
  require_size("target-labels", options.target_labels, model);
  require_size("predicted labels", options.predicted, model);
  PageContext context{model, report, options, {}, image_size(model, options), {}};
  if (context.images()) context.shades = shades_of(model);
  Known& known = context.known;
  known.truth = options.target_labels.size() ? options.target_labels : model.target.labels;
  if (!model.source.labelled()) return context;
  known.guesses = options.predicted;
  const Labels& source = model.source.labels;
  const bool known_truth = any_known(known.truth, source);
  const bool scored = report.target_score || report.test_score || !options.scores.empty();
  if (known.guesses.size() == 0 && (!known_truth || !scored))
    known.guesses = predicted_labels(model, report);
  if (known.truth.size() > 0 && !scored)
    context.report.target_score = evaluate(known.guesses, known.truth, source, known_labels(model));
  if (known_truth && options.scores.empty())
    context.baseline = evaluate(nearest_labels(model.source.points, source, model.target.points,
                                               report.prediction.neighbours),
                                known.truth, source, known_labels(model));
  if (!known_truth) known.truth = {};  // the predicted ones are shown
  return context;
}

}  // namespace

std::string to_html(const Model& model, const Report& report, const PageOptions& options) {
  if (model.f.size() == 0 || model.g.size() == 0)
    throw Error(
        {.field = "model", .problem = "it holds no plan", .remedy = "use one that fit returned"});
  const DenseWork scope = dense_work_of(model);
  const PageContext context = context_of(model, report, options);
  const PlanView view = view_plan(model, context.target_labels());
  Json page;
  page["title"] = options.title;
  page["asked"] = options.asked.empty() ? asked(model) : options.asked;
  page["verdict"] = options.verdict.empty() ? verdict(model, context.report, context.predicted())
                                            : options.verdict;
  page["warnings"] = Json::array();
  for (const Warning& warning : warnings_on(model, context.known, options, report.spelling))
    page["warnings"].push_back({{"what", warning.what}, {"fix", warning.fix}});
  page["sections"] = Json::array();
  for (Json& part : std::vector<Json>{
           accuracy_section(context), classes_section(context), mass_section(context, view),
           map_section(context), pairs_section(context, view), metric_section(context),
           convergence_section(context), section("Settings", {facts(model, context.report)})})
    if (!part.is_null()) page["sections"].push_back(std::move(part));
  return assemble_page(std::move(page));
}

}  // namespace remblai
