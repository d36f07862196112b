// The page of a model: what was asked, what came of it, and the sections in order.
#include "remblai/page.h"

#include <fmt/format.h>

#include <cmath>

#include "base/linalg.h"
#include "model/conditional.h"
#include "remblai/error.h"
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
  if (report.test_accuracy)
    return words + "; " + percent(*report.test_accuracy) +
           " of the test points get the right label.";
  if (report.target_accuracy)
    return words + "; " + percent(*report.target_accuracy) +
           " of the target points get the right label.";
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
                    ? fmt::format("learned, prior {}", name(options.prior))
                    : std::string(name(options.metric)));
  add("entropy weight lambda",
      model.lambda == 0 ? std::string("0: exact transport")
      : options.lambda_unit == Unit::relative
          ? fmt::format("{:g} × the mean cost = {:.4g}", options.lambda, model.lambda)
          : fmt::format("{:.4g}", model.lambda));
  if (options.metric == MetricChoice::learned)
    add("ridge",
        options.ridge_unit == Unit::relative
            ? fmt::format("{:g} × the mean eigenvalue = {:.4g}", options.ridge, model.ridge)
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
  add("status", fmt::format("{}: {}", name(model.status.outcome), model.status.reason));
  if (report.seconds > 0) add("time", fmt::format("{:.2f} s", report.seconds));
  for (const auto& [what, file] : report.inputs) add("file: " + what, file);
  return table_block("Settings and files", {"what", "value"}, rows);
}

void require_size(const char* what, const Labels& labels, const Model& model) {
  if (labels.size() != 0 && labels.size() != model.target.size())
    throw Error(fmt::format("{}: {} labels for {} target points; give one label a point", what,
                            labels.size(), model.target.size()));
}

Labels predicted_labels(const Model& model, bool through_the_plan) {
  const Matrix points = model.scaler.undo(model.target.points);
  return through_the_plan ? most_likely(propagate(model, points)) : predict(model, points);
}

PageContext context_of(const Model& model, const Report& report, const PageOptions& options) {
  require_size("target labels", options.target_labels, model);
  require_size("predicted labels", options.predicted, model);
  PageContext context{model, report, options, {}, image_size(model, options), {}};
  if (context.images()) context.shades = shades_of(model);
  Known& known = context.known;
  known.truth = options.target_labels.size() ? options.target_labels : model.target.labels;
  if (!model.source.labelled()) return context;
  known.guesses = options.predicted;
  const bool scored = report.target_accuracy || report.test_accuracy || !options.scores.empty();
  if (known.guesses.size() == 0 && (known.truth.size() == 0 || !scored))
    known.guesses = predicted_labels(model, report.propagate);
  if (known.truth.size() > 0 && !scored)
    context.report.target_accuracy = accuracy(known.guesses, known.truth);
  if (known.truth.size() > 0 && options.scores.empty())
    context.baseline = accuracy(nearest_labels(model.source.points, model.source.labels,
                                               model.target.points, model.options.neighbours),
                                known.truth);
  return context;
}

}  // namespace

std::string to_html(const Model& model, const Report& report, const PageOptions& options) {
  if (model.f.size() == 0 || model.g.size() == 0)
    throw Error("model: it holds no plan; use one that fit returned");
  const linalg::Threads scope = threads_of(model);
  const PageContext context = context_of(model, report, options);
  const PlanView view = view_plan(model, context.target_labels());
  Json page;
  page["title"] = options.title;
  page["asked"] = options.asked.empty() ? asked(model) : options.asked;
  page["verdict"] = options.verdict.empty() ? verdict(model, context.report, context.predicted())
                                            : options.verdict;
  page["warnings"] = Json::array();
  for (const Warning& warning : warnings_on(model, context.known, options))
    page["warnings"].push_back({{"what", warning.what}, {"fix", warning.fix}});
  page["sections"] = Json::array();
  for (Json& part : std::vector<Json>{accuracy_section(context), mass_section(context, view),
                                      map_section(context), pairs_section(context, view),
                                      metric_section(context), convergence_section(context),
                                      section("Settings", {facts(model, context.report)})})
    if (!part.is_null()) page["sections"].push_back(std::move(part));
  return assemble_page(std::move(page));
}

}  // namespace remblai
