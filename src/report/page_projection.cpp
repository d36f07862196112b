// Source, mapped source and target points on the first two principal axes under the metric.
// The axes come from the matrix of all inner products of the points shown, so d does not matter.
#include <cmath>

#include "base/linalg.h"
#include "model/coupling.h"
#include "report/page_data.h"

namespace remblai {
namespace {

/// The rows of a, then those of b, each cloud with half of the weight.
Matrix stacked(const Matrix& a, const Matrix& b) {
  Matrix all(a.rows() + b.rows(), a.cols());
  all.topRows(a.rows()) = a / std::sqrt(2.0 * static_cast<double>(a.rows()));
  all.bottomRows(b.rows()) = b / std::sqrt(2.0 * static_cast<double>(b.rows()));
  return all;
}

}  // namespace

Projection project(const Model& model, Index most_points) {
  Projection view;
  view.source = sampled_rows(model.source.weights, most_points);
  view.target = sampled_rows(model.target.weights, most_points);
  const Matrix source = model.source.points(view.source, Eigen::all);
  view.mapped = coupling_of(model)->own_barycentres(Direction::forward, view.source);
  Matrix x = model.metric.embed(source);
  Matrix z = model.metric.embed(model.target.points(view.target, Eigen::all));
  Matrix moved = model.metric.embed(view.mapped);
  const Eigen::RowVectorXd centre = (x.colwise().mean() + z.colwise().mean()) / 2;
  for (Matrix* points : {&x, &z, &moved}) points->rowwise() -= centre;

  Matrix axes = Matrix::Zero(x.cols(), 2);
  const Matrix both = stacked(x, z);
  const linalg::Spectrum spectrum = linalg::eigh(linalg::gram_of_rows(both));
  const Index count = spectrum.values.size();
  for (Index k = 0; spectrum.ok && k < std::min<Index>(2, count); ++k) {
    const double variance = spectrum.values[count - 1 - k];
    if (!(variance > 1e-14 * spectrum.values[count - 1])) break;
    view.shares[k] = variance / spectrum.values.sum();
    Vector axis = both.transpose() * spectrum.vectors.col(count - 1 - k);
    if (k == 1) axis -= axes.col(0) * axes.col(0).dot(axis);
    axis.normalize();
    Index largest = 0;
    axis.cwiseAbs().maxCoeff(&largest);
    axes.col(k) = axis[largest] < 0 ? -axis : axis;
  }
  const double unit = std::sqrt(model.metric.unit);
  view.source_at = unit * (x * axes);
  view.target_at = unit * (z * axes);
  view.mapped_at = unit * (moved * axes);
  return view;
}

}  // namespace remblai
