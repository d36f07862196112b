// Support, scale and span of the data.
#include "fit/space.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/linalg.h"

namespace remblai {
namespace {

// The middle of the points. A constant column keeps its value to the bit, so that its differences
// vanish.
Vector middle(const Matrix& x, const Matrix& z, const Shard& shard) {
  const Vector sums = shard.sum(x.rows(), x.cols(), [&](Rows rows) -> Vector {
    return x.middleRows(rows.begin, rows.end - rows.begin).colwise().sum();
  });
  const auto count = static_cast<double>(shard.total(x.rows()));
  Vector origin = 0.5 * (sums / count + z.colwise().mean().transpose());
  Vector differs(origin.size());
  for (Index j = 0; j < origin.size(); ++j)
    differs[j] = (x.col(j).array() == z(0, j)).all() && (z.col(j).array() == z(0, j)).all() ? 0 : 1;
  differs = shard.maximum(differs);
  for (Index j = 0; j < origin.size(); ++j)
    if (differs[j] == 0) origin[j] = z(0, j);
  return origin;
}

double largest_difference(const Matrix& points, const Vector& origin) {
  if (points.rows() == 0) return 0;
  return (points.rowwise() - origin.transpose()).cwiseAbs().maxCoeff();
}

// The unit vectors of the columns in which points differ, where these are surely independent: a
// Cholesky factorisation of their Gram matrix tells at a fraction of the price of the general case.
// Empty where it cannot tell. `shard` is of the first rows; those from `common` on are on every
// rank.
Matrix independent_columns(const Matrix& rows, Index common, const Shard& shard) {
  Vector used(rows.cols());
  for (Index j = 0; j < rows.cols(); ++j) used[j] = (rows.col(j).array() != 0).any() ? 1 : 0;
  used = shard.maximum(used);
  const std::vector<Index> columns = positive_entries(used);
  const auto rank = static_cast<Index>(columns.size());
  if (rank == 0 || rank > shard.total(common) + rows.rows() - common) return {};
  Matrix gram;
  if (!shard.divided()) {
    gram = linalg::gram(rows(Eigen::all, columns));
  } else {
    gram = shard.sum(common, rank, rank, [&](Rows part) {
      return linalg::gram(rows.middleRows(part.begin, part.end - part.begin)(Eigen::all, columns));
    });
    gram += linalg::gram(rows.bottomRows(rows.rows() - common)(Eigen::all, columns));
  }
  if (!linalg::cholesky_in_place(gram)) return {};
  const Vector pivots = gram.diagonal().cwiseAbs2();
  if (!(pivots.minCoeff() > 1e-9 * pivots.maxCoeff())) return {};
  Matrix basis = Matrix::Zero(rows.cols(), rank);
  for (Index k = 0; k < rank; ++k) basis(columns[static_cast<std::size_t>(k)], k) = 1;
  return basis;
}

// A basis of the span, or nothing where that is the whole space. The origin is a row of its own
// size, so that displacements far from zero are not taken for rounding.
Matrix span_basis(const Matrix& x, const Matrix& z, const Frame& frame, Span span,
                  const Shard& shard) {
  const double far = frame.origin.cwiseAbs().maxCoeff();
  const bool extra = span == Span::with_origin && far > 0;
  Matrix rows(x.rows() + z.rows() + (extra ? 1 : 0), x.cols());
  rows.topRows(x.rows()) = x.rowwise() - frame.origin.transpose();
  rows.middleRows(x.rows(), z.rows()) = z.rowwise() - frame.origin.transpose();
  rows /= frame.length;
  if (extra) rows.bottomRows(1) = frame.origin.transpose() / far;
  Matrix basis = extra ? Matrix() : independent_columns(rows, x.rows(), shard);
  if (basis.size() == 0 && shard.divided()) {
    const Matrix few = shard.compressed_rows(rows.topRows(x.rows()));
    Matrix all(few.rows() + rows.rows() - x.rows(), rows.cols());
    all << few, rows.bottomRows(rows.rows() - x.rows());
    rows = std::move(all);
  }
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
      return class_aware ? Span::displacements : Span::everything;
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
      return Span::displacements;
    case PriorChoice::w:
    case PriorChoice::w_inverse:
      return Span::with_origin;
    case PriorChoice::given:
      break;
  }
  return Span::everything;
}

Space make_space(const Domain& source, const Domain& target, Span span, const Shard& shard) {
  Space space;
  space.source_rows = positive_entries(source.weights);
  space.target_rows = positive_entries(target.weights);
  space.shard = shard.with_rows(static_cast<Index>(space.source_rows.size()));
  space.p = source.weights(space.source_rows);
  space.q = target.weights(space.target_rows);
  const Matrix x = source.points(space.source_rows, Eigen::all);
  const Matrix z = target.points(space.target_rows, Eigen::all);
  Frame& frame = space.frame;
  frame.origin = middle(x, z, space.shard);
  frame.length = linalg::power_of_two_above(space.shard.maximum(
      std::max(largest_difference(x, frame.origin), largest_difference(z, frame.origin))));
  if (span != Span::everything) frame.basis = span_basis(x, z, frame, span, space.shard);
  space.x = space.shard.by_pieces(x, frame.rank(),
                                  [&](const Matrix& rows) { return frame.coordinates(rows); });
  space.z = space.shard.by_common_pieces(
      z, frame.rank(), [&](const Matrix& rows) { return frame.coordinates(rows); });
  return space;
}

}  // namespace remblai
