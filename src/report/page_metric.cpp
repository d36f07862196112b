// The metric by its eigenvalues, its axes and the stretch of each feature; nothing d x d.
#include <algorithm>
#include <cmath>

#include "base/linalg.h"
#include "report/page_data.h"

namespace remblai {
namespace {

/// Of every feature over both clouds, half of the weight each; exactly 0 where it does not vary.
Vector deviations(const Model& model) {
  const Index d = model.metric.dimension();
  Vector deviation = Vector::Zero(d);
  const std::vector<Index> source = positive_entries(model.source.weights);
  const std::vector<Index> target = positive_entries(model.target.weights);
  const Vector p = model.source.weights(source), q = model.target.weights(target);
  for (Index k = 0; k < d; ++k) {
    const Vector x = model.source.points(source, k), z = model.target.points(target, k);
    if (std::min(x.minCoeff(), z.minCoeff()) == std::max(x.maxCoeff(), z.maxCoeff())) continue;
    const double mean = (p.dot(x) + q.dot(z)) / 2;
    deviation[k] = std::sqrt(
        (p.dot(Vector((x.array() - mean).square())) + q.dot(Vector((z.array() - mean).square()))) /
        2);
  }
  return deviation;
}

/// |F V'e_k|^2 + outside (1 - |V'e_k|^2) for every feature k.
Vector diagonal(const Metric& metric) {
  const Index d = metric.dimension();
  if (!metric.factor.size()) {
    if (!metric.frame.basis.size()) return Vector::Ones(d);
    const Vector inside = metric.frame.basis.rowwise().squaredNorm();
    return inside.array() + metric.outside * (1 - inside.array()).max(0.0);
  }
  if (!metric.frame.basis.size()) return metric.factor.colwise().squaredNorm().transpose();
  const Matrix seen =
      linalg::multiply(metric.frame.basis, metric.factor, linalg::Op::none, linalg::Op::transpose);
  return seen.rowwise().squaredNorm().array() +
         metric.outside * (1 - metric.frame.basis.rowwise().squaredNorm().array()).max(0.0);
}

/// Columns in the coordinates of the span to rows of the whole space; the largest weight positive.
Matrix axes(const Metric& metric, const Matrix& columns) {
  Matrix rows = metric.frame.basis.size() && columns.size()
                    ? linalg::multiply(columns, metric.frame.basis, linalg::Op::transpose,
                                       linalg::Op::transpose)
                    : Matrix(columns.transpose());
  for (Index k = 0; k < rows.rows(); ++k) {
    Index largest = 0;
    rows.row(k).cwiseAbs().maxCoeff(&largest);
    if (rows(k, largest) < 0) rows.row(k) *= -1;
  }
  return rows;
}

}  // namespace

MetricView view_metric(const Model& model, Index most_directions) {
  const Metric& metric = model.metric;
  const Index d = metric.dimension(), rank = metric.rank();
  MetricView view;
  view.outside_count = d - rank;
  if (metric.factor.size()) {
    const linalg::Spectrum spectrum = linalg::eigh(linalg::gram(metric.factor));
    if (spectrum.ok) {
      view.eigenvalues = spectrum.values.reverse().cwiseMax(0);
      const Index most = std::min(most_directions, rank);
      const Index least = std::min(most_directions, rank - most);
      view.most = axes(metric, spectrum.vectors.rightCols(most).rowwise().reverse());
      view.least = axes(metric, spectrum.vectors.leftCols(least));
    }
  } else {
    view.eigenvalues = Vector::Ones(rank);
  }
  const double sum = view.eigenvalues.sum();
  const double mean = sum > 0 ? sum / static_cast<double>(view.eigenvalues.size()) : 1;
  view.mean = mean * metric.unit / metric.frame.length / metric.frame.length;
  view.eigenvalues /= mean;
  view.outside = metric.outside / mean;
  const Vector deviation = deviations(model);
  for (Index k = 0; k < d; ++k)
    if (deviation[k] > 0) view.by_stretch.push_back(k);
  view.stretch = diagonal(metric).cwiseSqrt().cwiseProduct(deviation);
  if (const double total = view.stretch.sum(); total > 0)
    view.stretch *= static_cast<double>(view.by_stretch.size()) / total;
  std::stable_sort(view.by_stretch.begin(), view.by_stretch.end(),
                   [&](Index a, Index b) { return view.stretch[a] < view.stretch[b]; });
  return view;
}

}  // namespace remblai
