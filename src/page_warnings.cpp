// What a reader should know before believing the rest, each with what to change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "page_data.h"

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

/// The classes of `some` that `others` do not have.
std::vector<std::string> absent(const Labels& some, const Labels& others,
                                const PageOptions& options) {
  const Labels a = classes_of(some), b = classes_of(others);
  std::vector<std::int64_t> missing;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(missing));
  std::vector<std::string> names;
  for (const std::int64_t label : missing) names.push_back(class_name(label, options));
  return names;
}

/// The reason of a status says what to change, too.
void warn_of_the_end(const Model& model, std::vector<Warning>& list) {
  const std::string reason = model.status.reason + ".";
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
  return model.ridge * metric.unit / metric.length / metric.length * trace;
}

void warn_of_numbers(const Model& model, std::vector<Warning>& list) {
  if (model.history.empty()) return;
  const Step& last = model.history.back();
  const bool learned = model.options.metric == MetricChoice::learned;
  const double ridge = learned ? ridge_inside(model) : 0;
  if (std::isfinite(ridge) && ridge > 2 * last.transport_cost)
    list.push_back(
        {fmt::format("The ridge dominates: it takes {:.0f} % of the cost that shapes the metric, "
                     "the data the rest, so the metric is nearer to the prior than to the data.",
                     100 * ridge / (ridge + last.transport_cost)),
         fmt::format("Lower --ridge, which is {:g}, if the data should decide.",
                     model.options.ridge)});
  const double information =
      entropy(model.source.weights) + entropy(model.target.weights) - last.entropy;
  if (model.lambda > 0 && model.source.size() > 1 && model.target.size() > 1 && information < 0.05)
    list.push_back(
        {"The plan hardly depends on the points: every source point spreads over nearly the whole "
         "target, and all of them move to about the same place. Labels rest on small differences.",
         fmt::format("That may be right where only the shares of the classes differ. To carry "
                     "points to points like them, lower --lambda, which is {:g}.",
                     model.options.lambda)});
  if (!last.inner_converged && model.status.converged())
    list.push_back({"The last plan misses its tolerance.", "Raise --tolerance or --lambda."});
}

}  // namespace

std::string class_name(std::int64_t label, const PageOptions& options) {
  const auto found = options.class_names.find(label);
  return found == options.class_names.end() ? fmt::format("{}", label) : found->second;
}

std::vector<Warning> warnings_on(const Model& model, const Knowledge& known,
                                 const PageOptions& options) {
  std::vector<Warning> list;
  warn_of_the_end(model, list);
  warn_of_numbers(model, list);
  if (!model.source.labelled()) return list;
  if (classes_of(model.source.labels).size() == 1)
    list.push_back({"All source points have the same label, so every prediction is that label.",
                    "Give source points of several classes."});
  if (known.target_labels.size() == 0) return list;
  const auto unused = absent(model.source.labels, known.target_labels, options);
  if (!unused.empty()) {
    const std::string rest = known.predicted
                                 ? " receives no mass: no target point was labelled so."
                                 : " of the source is not in the target: its mass has to go to "
                                   "other classes.";
    list.push_back({"Class " + listed(unused) + rest,
                    "If that class should be there, lower --lambda, or give its source points a "
                    "smaller weight "
                    "(--source-weights) so that less has to be carried elsewhere."});
  }
  const auto unknown = absent(known.target_labels, model.source.labels, options);
  if (!unknown.empty())
    list.push_back({fmt::format("Class {} of the target has no source point, so none of its points "
                                "can be labelled right.",
                                listed(unknown)),
                    "Add source points of that class."});
  return list;
}

}  // namespace remblai
