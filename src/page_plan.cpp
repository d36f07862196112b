// One pass over the plan, block by block: the mass from class to class, and the strongest pairs.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "conditional.h"
#include "linalg.h"
#include "page_data.h"

namespace remblai {
namespace {

/// One in the column of its class, for each point.
Matrix members(const Labels& labels, const Classes& classes) {
  Matrix table = Matrix::Zero(labels.size(), classes.size());
  for (Index i = 0; i < labels.size(); ++i) table(i, classes.index(labels[i])) = 1;
  return table;
}

/// Of each source point its largest pair, then the largest of these whose target is still free.
std::vector<Pair> strongest(std::vector<Pair> pairs, Index most) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.mass > b.mass; });
  std::vector<Pair> kept;
  std::set<Index> taken;
  for (const Pair& pair : pairs) {
    if (static_cast<Index>(kept.size()) == most) break;
    if (pair.mass > 0 && taken.insert(pair.target).second) kept.push_back(pair);
  }
  return kept;
}

}  // namespace

Labels classes_of(const Labels& labels) {
  const std::set<std::int64_t> distinct(labels.begin(), labels.end());
  Labels classes(static_cast<Index>(distinct.size()));
  std::copy(distinct.begin(), distinct.end(), classes.begin());
  return classes;
}

Classes group_classes(const Labels& labels, Index most) {
  Classes classes{classes_of(labels), false};
  if (classes.shown.size() <= most) return classes;
  std::map<std::int64_t, Index> counts;
  for (const std::int64_t label : labels) ++counts[label];
  std::vector<std::int64_t> order(classes.shown.begin(), classes.shown.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return counts[a] > counts[b]; });
  std::sort(order.begin(), order.begin() + most);
  classes.others = true;
  classes.shown.resize(most);
  std::copy_n(order.begin(), most, classes.shown.begin());
  return classes;
}

Index Classes::index(std::int64_t label) const {
  const auto place = std::lower_bound(shown.begin(), shown.end(), label);
  return place != shown.end() && *place == label ? place - shown.begin() : shown.size();
}

std::vector<Index> sampled_rows(const Vector& weights, Index most) {
  std::vector<Index> rows = positive_entries(weights);
  if (static_cast<Index>(rows.size()) <= most) return rows;
  std::mt19937_64 engine(1781);  // no stride: labels may come in turns
  for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i)
    std::swap(rows[i], rows[i + engine() % (rows.size() - i)]);
  rows.resize(static_cast<std::size_t>(most));
  std::sort(rows.begin(), rows.end());
  return rows;
}

PlanView view_plan(const Model& model, const Labels& target_labels, const PlanLimits& limits) {
  PlanView view;
  const bool classes = model.source.labelled() && target_labels.size() > 0;
  if (classes) {
    view.source_classes = group_classes(model.source.labels, limits.classes);
    view.target_classes = group_classes(target_labels, limits.classes);
    view.mass = Matrix::Zero(view.source_classes.size(), view.target_classes.size());
  }
  const auto row_of = [&](Index i) { return view.source_classes.index(model.source.labels[i]); };
  std::vector<Pair> largest;
  if (model.lambda == 0) {
    view.rows = static_cast<Index>(positive_entries(model.source.weights).size());
    for (const Mass& mass : model.exact) {
      const Pair pair{mass.source, mass.target, mass.amount,
                      mass.amount / model.source.weights[mass.source]};
      if (classes)
        view.mass(row_of(mass.source), view.target_classes.index(target_labels[mass.target])) +=
            mass.amount;
      if (largest.empty() || largest.back().source != mass.source)
        largest.push_back(pair);
      else if (pair.mass > largest.back().mass)
        largest.back() = pair;
    }
  } else {
    const std::vector<Index> rows = sampled_rows(model.source.weights, limits.rows);
    view.rows = static_cast<Index>(rows.size());
    const Matrix belongs = classes ? members(target_labels, view.target_classes) : Matrix();
    const Matrix points = model.source.points(rows, Eigen::all);
    visit_conditionals(model, Direction::forward, points, [&](Index first, const Matrix& weights) {
      const Matrix sums = classes ? linalg::multiply(weights, belongs) : Matrix();
      for (Index k = 0; k < weights.rows(); ++k) {
        const Index i = rows[static_cast<std::size_t>(first + k)];
        const double mass = model.source.weights[i];
        if (classes) view.mass.row(row_of(i)) += mass * sums.row(k);
        Index j = 0;
        const double share = weights.row(k).maxCoeff(&j);
        largest.push_back({i, j, share * mass, share});
      }
    });
  }
  if (const double total = view.mass.sum(); total > 0) view.mass /= total;
  view.pairs = strongest(std::move(largest), limits.pairs);
  return view;
}

}  // namespace remblai
