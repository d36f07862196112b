// Support, scale and span of the data.
#include "fit/space.h"

#include <algorithm>
#include <cmath>

#include "base/linalg.h"

namespace remblai {
namespace {

// The middle of the points. A constant column keeps its value to the bit, so that its differences
// vanish.
Vector middle(const Matrix& x, const Matrix& z) {
  Vector origin = 0.5 * (x.colwise().mean() + z.colwise().mean());
  for (Index j = 0; j < origin.size(); ++j)
    if ((x.col(j).array() == x(0, j)).all() && (z.col(j).array() == x(0, j)).all())
      origin[j] = x(0, j);
  return origin;
}

double largest_difference(const Matrix& points, const Vector& origin) {
  return (points.rowwise() - origin.transpose()).cwiseAbs().maxCoeff();
}

// The unit vectors of the columns in which points differ, where these are surely independent, but
// for a share `spare` of them: a Cholesky factorisation of their Gram matrix tells at a fraction of
// the price of the general case. Empty where it cannot tell.
Matrix independent_columns(const Matrix& rows, double spare) {
  std::vector<Index> columns;
  for (Index j = 0; j < rows.cols(); ++j)
    if ((rows.col(j).array() != 0).any()) columns.push_back(j);
  const auto rank = static_cast<Index>(columns.size());
  if (rank == 0 || rank > rows.rows()) return {};
  Matrix gram = linalg::gram(rows(Eigen::all, columns));
  gram.diagonal().array() += 1e-11 * gram.diagonal().maxCoeff();
  if (!linalg::cholesky_in_place(gram)) return {};
  const Vector pivots = gram.diagonal().cwiseAbs2();
  const auto dependent = (pivots.array() <= 1e-9 * pivots.maxCoeff()).count();
  if (static_cast<double>(dependent) > spare * static_cast<double>(rank)) return {};
  Matrix basis = Matrix::Zero(rows.cols(), rank);
  for (Index k = 0; k < rank; ++k) basis(columns[static_cast<std::size_t>(k)], k) = 1;
  return basis;
}

// A basis of the span, or nothing where that is the whole space. The origin is a row of its own
// size, so that displacements far from zero are not taken for rounding.
Matrix span_basis(const Matrix& x, const Matrix& z, const Frame& frame, Span span) {
  const double far = frame.origin.cwiseAbs().maxCoeff();
  const bool extra = span == Span::with_origin && far > 0;
  Matrix rows(x.rows() + z.rows() + (extra ? 1 : 0), x.cols());
  rows.topRows(x.rows()) = x.rowwise() - frame.origin.transpose();
  rows.middleRows(x.rows(), z.rows()) = z.rowwise() - frame.origin.transpose();
  rows /= frame.length;
  if (extra) rows.bottomRows(1) = frame.origin.transpose() / far;
  Matrix basis = extra ? Matrix() : independent_columns(rows, span == Span::columns ? 0.1 : 0.0);
  if (basis.size() == 0) basis = linalg::row_space(rows);
  if (basis.cols() == 0) basis = Matrix::Identity(x.cols(), 1);
  return basis.cols() < x.cols() ? basis : Matrix();
}

}  // namespace

// A given matrix mixes all directions, and the identity as a fixed metric needs no metric step.
Span span_of(const Options& options) {
  const bool class_aware = options.method == Method::class_aware;
  switch (options.metric.kind()) {
    case MetricChoice::identity:
      // The class-aware method measures many distances.
      return class_aware ? Span::columns : Span::everything;
    case MetricChoice::given:
      return Span::everything;
    case MetricChoice::w:
    case MetricChoice::w_inverse:
      return Span::with_origin;
    case MetricChoice::learned:
      break;
  }
  switch (options.prior.kind()) {
    case PriorChoice::automatic:
    case PriorChoice::identity:
    case PriorChoice::spread:
      return class_aware && options.ridge > 0 && options.prior_ridge > 0 ? Span::columns
                                                                         : Span::displacements;
    case PriorChoice::w:
    case PriorChoice::w_inverse:
      return Span::with_origin;
    case PriorChoice::given:
      break;
  }
  return Span::everything;
}

Space make_space(const Domain& source, const Domain& target, Span span) {
  Space space;
  space.source_rows = positive_entries(source.weights);
  space.target_rows = positive_entries(target.weights);
  space.p = source.weights(space.source_rows);
  space.q = target.weights(space.target_rows);
  const Matrix x = source.points(space.source_rows, Eigen::all);
  const Matrix z = target.points(space.target_rows, Eigen::all);
  Frame& frame = space.frame;
  frame.origin = middle(x, z);
  frame.length = linalg::power_of_two_above(
      std::max(largest_difference(x, frame.origin), largest_difference(z, frame.origin)));
  if (span != Span::everything) frame.basis = span_basis(x, z, frame, span);
  space.x = frame.coordinates(x);
  space.z = frame.coordinates(z);
  return space;
}

}  // namespace remblai
