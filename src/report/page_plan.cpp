// One pass over the plan, block by block: the mass from class to class, and the strongest pairs.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/linalg.h"
#include "model/coupling.h"
#include "report/page_data.h"

namespace remblai {
namespace {

/// One in the column of its class, for each point.
Matrix members(const Labels& labels, const Classes& classes) {
  Matrix table = Matrix::Zero(labels.size(), classes.size());
  for (Index i = 0; i < labels.size(); ++i) table(i, classes.index(labels[i])) = 1;
  return table;
}

/// Again and again the largest pair whose two points are both still free.
std::vector<Pair> strongest(std::vector<Pair> pairs, Index most) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.mass > b.mass; });
  std::vector<Pair> kept;
  std::set<Index> sources, targets;
  for (const Pair& pair : pairs) {
    if (static_cast<Index>(kept.size()) == most) break;
    if (!(pair.mass > 0) || sources.contains(pair.source) || targets.contains(pair.target))
      continue;
    sources.insert(pair.source);
    targets.insert(pair.target);
    kept.push_back(pair);
  }
  return kept;
}

/// Adds the `most` largest entries of a row of conditional weights: when `most` pairs are chosen,
/// fewer targets than that can be taken before the last.
void add_largest(const Vector& weights, Index source, double mass, Index most,
                 std::vector<Pair>& pairs) {
  std::vector<Index> order(static_cast<std::size_t>(weights.size()));
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min(most, weights.size());
  std::partial_sort(order.begin(), end, order.end(), [&](Index a, Index b) {
    return weights[a] > weights[b] || (weights[a] == weights[b] && a < b);
  });
  for (auto j = order.begin(); j != end; ++j)
    pairs.push_back({source, *j, weights[*j] * mass, weights[*j]});
}

/// About `most` source points. Half of them are dealt out evenly over the classes, half by mass, so
/// that a rare class is there with all its points.
std::vector<Index> sampled_by_class(const Domain& domain, const Classes& classes, Index most) {
  if (static_cast<Index>(positive_entries(domain.weights).size()) <= most || classes.size() == 0)
    return sampled_rows(domain.weights, most);
  std::vector<Index> rows;
  for (Index k = 0; k < classes.size(); ++k) {
    Vector weights = domain.weights;  // of this class
    for (Index i = 0; i < domain.size(); ++i)
      if (classes.index(domain.labels[i]) != k) weights[i] = 0;
    const double share = (1.0 / static_cast<double>(classes.size()) + weights.sum()) / 2;
    const auto part = sampled_rows(
        weights, static_cast<Index>(std::ceil(share * static_cast<double>(most) - 1e-6)));
    rows.insert(rows.end(), part.begin(), part.end());
  }
  std::sort(rows.begin(), rows.end());
  return rows;
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
  const std::vector<Index> rows = sampled_by_class(model.source, view.source_classes, limits.rows);
  view.rows = static_cast<Index>(rows.size());
  const Matrix belongs = classes ? members(target_labels, view.target_classes) : Matrix();
  const std::unique_ptr<Coupling> coupling = coupling_of(model);
  const Vector masses = coupling->masses(Direction::forward);
  coupling->visit_own(Direction::forward, rows, [&](Index first, const Matrix& weights) {
    const Matrix sums = classes ? linalg::multiply(weights, belongs) : Matrix();
    for (Index k = 0; k < weights.rows(); ++k) {
      const Index i = rows[static_cast<std::size_t>(first + k)];
      if (classes) view.mass.row(row_of(i)) += masses[i] * sums.row(k);
      add_largest(weights.row(k), i, masses[i], limits.pairs, largest);
    }
  });
  // What stands for a class weighs as much as the class.
  Vector whole = Vector::Zero(view.mass.rows());
  for (Index i = 0; classes && i < model.source.size(); ++i) whole[row_of(i)] += masses[i];
  for (Index k = 0; k < view.mass.rows(); ++k)
    if (const double seen = view.mass.row(k).sum(); seen > 0) view.mass.row(k) *= whole[k] / seen;
  if (const double total = view.mass.sum(); total > 0) view.mass /= total;
  view.pairs = strongest(std::move(largest), limits.pairs);
  return view;
}

}  // namespace remblai
