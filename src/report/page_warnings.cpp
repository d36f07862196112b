// What a reader should know before believing the rest, each with what to change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <vector>

#include "model/class_terms.h"
#include "remblai/evaluate.h"
#include "report/json.h"
#include "report/page_data.h"
#include "report/page_sections.h"

namespace remblai {
namespace {

double entropy(const Vector& weights) {
  double sum = 0;
  for (const double weight : weights)
    if (weight > 0) sum -= weight * std::log(weight);
  return sum;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + most, ", "),
                     names.size() - most);
}

using Set = std::set<std::int64_t>;

/// The classes that points of positive weight have.
Set present(const Labels& labels, const Vector& weights) {
  Set classes;
  for (Index i = 0; i < labels.size(); ++i)
    if (weights[i] > 0) classes.insert(labels[i]);
  return classes;
}

/// "class 3", "classes 3, 7".
std::string named(const Set& classes, const PageOptions& options) {
  std::vector<std::string> names;
  for (const std::int64_t label : classes) names.push_back(literal(class_name(label, options)));
  return (classes.size() == 1 ? "class " : "classes ") + listed(names);
}

Set without(const Set& some, const Set& others) {
  Set rest;
  std::set_difference(some.begin(), some.end(), others.begin(), others.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

// Of what a class-aware plan gives to classes that are not there, less is not worth a warning.
constexpr double noticeable_share = 0.05;

void warn_of_classes(const Model& model, const Known& known, const PageOptions& options,
                     std::vector<Warning>& list) {
  const Set source = present(model.source.labels, model.source.weights);
  Set truth = present(known.truth, model.target.weights);
  const bool all_known = minus_one_is_class(model.source.labels) || truth.erase(unknown_label) == 0;
  const Set guesses = present(known.guesses, model.target.weights);
  const Vector masses = model.classes ? class_masses(model) : model.source.weights;
  const auto mass = [&](const Set& classes) {
    double sum = 0;
    for (Index i = 0; i < masses.size(); ++i)
      if (classes.contains(model.source.labels[i])) sum += masses[i];
    return sum;
  };
  const auto noticeable = [&](const Set& classes) {
    return !classes.empty() && (!model.classes || mass(classes) >= noticeable_share);
  };
  if (source.size() == 1)
    list.push_back({"All source points have the same label, so every prediction is that label.",
                    "Give source points of several classes."});
  // A class may be among the points whose label is not known.
  const Set gone = truth.empty() || !all_known ? Set() : without(source, truth);
  if (noticeable(gone)) {
    const bool one = gone.size() == 1;
    list.push_back(
        {fmt::format("The target has no point of {}, so that the mass of {} source points, {} of "
                     "the whole, has to go to other classes.",
                     named(gone, options), one ? "its" : "their", percent_text(mass(gone))),
         model.classes
             ? "Give the shares of the classes in the target, if you know them ($target-shares)."
             : fmt::format("Give the source points of {} a smaller weight ($source-weights).",
                           one ? "that class" : "those classes")});
  }
  const Set missed = guesses.empty() ? Set() : without(without(source, gone), guesses);
  if (noticeable(missed)) {
    const bool one = missed.size() == 1;
    list.push_back(
        {fmt::format("No target point was given {}, though {} source points hold {} of the mass{}.",
                     named(missed, options), one ? "its" : "their", percent_text(mass(missed)),
                     truth.empty() || !all_known ? ""
                     : one                       ? " and it is in the target"
                                                 : " and they are in the target"),
         fmt::format(
             "{} {}.",
             truth.empty() || !all_known
                 ? one ? "If that class should be there," : "If those classes should be there,"
                 : "To tell classes apart better,",
             model.classes ? "give the labels of a few target points ($known-labels)"
                           : fmt::format("lower $lambda, which is {:g}", model.options.lambda))});
  }
  if (const Set unknown = without(truth, source); !unknown.empty()) {
    const bool one = unknown.size() == 1;
    list.push_back(
        {fmt::format("No source point is of {}, so that no target point of {} can be labelled "
                     "right.",
                     named(unknown, options), one ? "it" : "them"),
         fmt::format("Add source points of {}.", one ? "that class" : "those classes")});
  }
}

/// The reason of a status says what to change, too.
void warn_of_the_end(const Model& model, const Spelling& spelling, std::vector<Warning>& list) {
  const std::string reason = literal(words(model.status.message, spelling)) + ".";
  switch (model.status.outcome) {
    case Outcome::converged:
      return;
    case Outcome::iteration_limit:
      list.push_back({"The fit did not converge: " + reason,
                      "Until then plan and metric are a sketch of what they will be."});
      return;
    case Outcome::stopped:
      list.push_back(
          {"The fit was stopped before it was done: " + reason, "Run it again and let it end."});
      return;
    case Outcome::diverged:
      list.push_back({"The fit broke down: " + reason, "Its numbers cannot be trusted."});
  }
}

/// ridge trace(A) over the directions that the data span: outside of them the ridge is all there
/// is.
double ridge_inside(const Model& model) {
  const Metric& metric = model.metric;
  const double trace =
      metric.factor.size() ? metric.factor.squaredNorm() : static_cast<double>(metric.rank());
  return model.ridge * metric.unit / metric.frame.length / metric.frame.length * trace;
}

void warn_of_numbers(const Model& model, std::vector<Warning>& list) {
  if (model.history.empty()) return;
  const Step& last = model.history.back();
  const bool learned = model.options.metric == MetricChoice::learned;
  const double ridge = learned ? ridge_inside(model) : 0;
  // The class-aware method has a large ridge by design.
  if (!model.classes && std::isfinite(ridge) && ridge > 2 * last.transport_cost)
    list.push_back(
        {fmt::format("The ridge dominates: it takes {:.0f} % of the cost that shapes the metric, "
                     "the data the rest, so the metric is nearer to the prior than to the data.",
                     100 * ridge / (ridge + last.transport_cost)),
         fmt::format("Lower $ridge, which is {:g}, if the data should decide.",
                     model.options.ridge)});
  // What the plan tells of a point's partner, as a share of all there is to tell: 1 is a matching.
  const double p = entropy(model.source.weights), q = entropy(model.target.weights);
  const bool choice = positive_entries(model.source.weights).size() > 1 &&
                      positive_entries(model.target.weights).size() > 1;
  if (model.lambda > 0 && choice && p + q - last.entropy < 0.02 * std::min(p, q))
    list.push_back(
        {"The plan hardly depends on the points: every source point spreads over nearly the whole "
         "target, and all of them move to about the same place. Labels rest on small differences.",
         fmt::format("That may be right where only the shares of the classes differ. To carry "
                     "points to points like them, lower $lambda, which is {:g}.",
                     model.options.lambda)});
  if (!last.inner_converged && model.status.converged())
    list.push_back({"The last plan misses its tolerance.", "Raise $tolerance or $lambda."});
}

}  // namespace

std::string class_name(std::int64_t label, const PageOptions& options) {
  const auto found = options.class_names.find(label);
  return found == options.class_names.end() ? fmt::format("{}", label) : found->second;
}

std::vector<Warning> warnings_on(const Model& model, const Known& known, const PageOptions& options,
                                 const Spelling& spelling) {
  std::vector<Warning> list;
  warn_of_the_end(model, spelling, list);
  warn_of_numbers(model, list);
  if (model.source.labelled()) warn_of_classes(model, known, options, list);
  for (const Warning& warning : warnings(model)) list.push_back(warning);
  for (Warning& warning : list)
    for (std::string* text : {&warning.what, &warning.fix})
      *text = words({.problem = *text}, spelling);
  return list;
}

}  // namespace remblai
