// Support, scale and span of the data.
#include "fit/space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/common_rows.h"
#include "base/linalg.h"

namespace remblai {
namespace {

// What one look at the points tells of every column.
struct ColumnRanges {
  Vector sums, low, high;
};

ColumnRanges look_at_rows(const Matrix& points, Rows rows) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Index count = rows.end - rows.begin, d = points.cols(), pieces = piece_count(count);
  Matrix sums = Matrix::Zero(pieces, d);
  Matrix low = Matrix::Constant(pieces, d, infinity), high = -low;
  linalg::for_rows(count, d, [&](Index k, Rows some) {
    for (Index i = rows.begin + some.begin; i < rows.begin + some.end; ++i) {
      sums.row(k) += points.row(i);
      low.row(k) = low.row(k).cwiseMin(points.row(i));
      high.row(k) = high.row(k).cwiseMax(points.row(i));
    }
  });
  return {sums.colwise().sum(), low.colwise().minCoeff(), high.colwise().maxCoeff()};
}

ColumnRanges look_at(const Matrix& points, const Shard& shard) {
  ColumnRanges all = look_at_rows(points, {0, 0});  // of no rows
  all.sums = shard.sum(points.rows(), points.cols(), [&](Rows rows) {
    ColumnRanges some = look_at_rows(points, rows);
    all.low = all.low.cwiseMin(some.low);
    all.high = all.high.cwiseMax(some.high);
    return std::move(some.sums);
  });
  all.low = -shard.maximum(-all.low);
  all.high = shard.maximum(all.high);
  return all;
}

// The points of both domains, and what is known of their columns.
struct Points {
  const Matrix& x;
  const Matrix& z;
  const Shard& shard;  // of the rows of x
  Vector low, high;
};

// The middle of the points. A constant column keeps its value to the bit, so that its differences
// vanish.
Vector middle(const Points& points, const Vector& sums_x, const Vector& sums_z) {
  const auto count = static_cast<double>(points.shard.total(points.x.rows()));
  Vector origin = 0.5 * (sums_x / count + sums_z / static_cast<double>(points.z.rows()));
  for (Index j = 0; j < origin.size(); ++j)
    if (points.low[j] == points.high[j]) origin[j] = points.low[j];
  return origin;
}

// The Gram matrix of some columns of some points, measured from the origin in multiples of the
// length.
Matrix gram_of_columns(const Matrix& points, Rows rows, const std::vector<Index>& columns,
                       const Frame& frame) {
  const Eigen::RowVectorXd origin = frame.origin(columns);
  const auto width = static_cast<Index>(columns.size());
  return linalg::gram_of_made(rows.end - rows.begin, width, [&](Rows some, Eigen::Ref<Matrix> to) {
    for (Index i = some.begin; i < some.end; ++i)
      to.row(i - some.begin) = (points.row(rows.begin + i)(columns) - origin) * (1 / frame.length);
  });
}

// The first so many pivots that a Cholesky factorisation with pivoting takes from the Gram matrix
// of columns are surely not rounding. Every column is measured by its own length, for one that is
// seldom other than zero is independent too, as long as the general case would not take it for
// rounding beside the longest.
Index surely_independent(Matrix gram) {
  const Vector squares = gram.diagonal();
  if (!(squares.minCoeff() > 0)) return 0;
  const Vector scale = squares.cwiseSqrt().cwiseInverse();
  gram = scale.asDiagonal() * gram * scale.asDiagonal();
  const double smallest = 1e-22 * squares.maxCoeff();
  Index count = 0;
  for (const auto& [column, pivot] : linalg::cholesky_pivots(std::move(gram), 1e-9)) {
    if (!(pivot * squares[column] > smallest)) break;
    ++count;
  }
  return count;
}

// The unit vectors of the columns in which points differ, where nearly all of these are surely
// independent. Their Gram matrix tells at a fraction of the price of the general case. A few
// directions more than there need be cost less than to find those that can go, and coordinates that
// are columns of the points cost nothing. Empty where the general case is wanted. It is where the
// columns are all there are: nothing would tell then that they depend on each other.
Matrix independent_columns(const Points& points, const Frame& frame) {
  constexpr double nearly_all = 0.9;
  std::vector<Index> columns;
  for (Index j = 0; j < points.low.size(); ++j)
    if (points.low[j] != points.high[j]) columns.push_back(j);
  const auto count = static_cast<Index>(columns.size());
  if (count == 0 || count > points.shard.total(points.x.rows()) + points.z.rows()) return {};
  Matrix gram = points.shard.sum(points.x.rows(), count, count, [&](Rows rows) {
    return gram_of_columns(points.x, rows, columns, frame);
  });
  gram += gram_of_columns(points.z, {0, points.z.rows()}, columns, frame);
  const Index rank = surely_independent(std::move(gram));
  const bool enough = count < points.low.size()
                          ? static_cast<double>(rank) >= nearly_all * static_cast<double>(count)
                          : rank == count;
  if (!enough) return {};
  Matrix basis = Matrix::Zero(points.low.size(), count);
  for (Index k = 0; k < count; ++k) basis(columns[static_cast<std::size_t>(k)], k) = 1;
  return basis;
}

// The general case. The origin is a row of its own size, so that displacements far from zero are
// not taken for rounding.
Matrix span_of_rows(const Points& points, const Frame& frame, bool with_origin) {
  const Matrix &x = points.x, &z = points.z;
  Matrix rows(x.rows() + z.rows() + (with_origin ? 1 : 0), x.cols());
  rows.topRows(x.rows()) = x.rowwise() - frame.origin.transpose();
  rows.middleRows(x.rows(), z.rows()) = z.rowwise() - frame.origin.transpose();
  rows /= frame.length;
  if (with_origin)
    rows.bottomRows(1) = frame.origin.transpose() / frame.origin.cwiseAbs().maxCoeff();
  if (points.shard.divided()) {
    const Matrix few = points.shard.compressed_rows(rows.topRows(x.rows()));
    Matrix all(few.rows() + rows.rows() - x.rows(), rows.cols());
    all << few, rows.bottomRows(rows.rows() - x.rows());
    rows = std::move(all);
  }
  return linalg::row_space(rows);
}

// A basis of the span, or nothing where that is the whole space.
Matrix span_basis(const Points& points, const Frame& frame, Span span) {
  const bool extra = span == Span::with_origin && frame.origin.cwiseAbs().maxCoeff() > 0;
  Matrix basis = extra ? Matrix() : independent_columns(points, frame);
  if (basis.size() == 0) basis = span_of_rows(points, frame, extra);
  const Index d = points.low.size();
  if (basis.cols() == 0) basis = Matrix::Identity(d, 1);
  return basis.cols() < d ? basis : Matrix();
}

// Some rows of the points; where they are all of them, the points themselves.
const Matrix& chosen_rows(const Matrix& points, const std::vector<Index>& rows, Matrix& room) {
  if (static_cast<Index>(rows.size()) == points.rows()) return points;
  room = points(rows, Eigen::all);
  return room;
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

void Space::divide_targets() {
  if (!shard.divided()) return;
  keep_share(*shard.comm(), z);
  targets = shard.with_rows(z.rows());
}

Space make_space(const Domain& source, const Domain& target, Span span, const Shard& shard) {
  Space space;
  space.source_rows = positive_entries(source.weights);
  space.target_rows = positive_entries(target.weights);
  space.shard = shard.with_rows(static_cast<Index>(space.source_rows.size()));
  space.p = source.weights(space.source_rows);
  space.q = target.weights(space.target_rows);
  Matrix some_x, some_z;
  const Matrix& x = chosen_rows(source.points, space.source_rows, some_x);
  const Matrix& z = chosen_rows(target.points, space.target_rows, some_z);
  const ColumnRanges of_x = look_at(x, space.shard), of_z = look_at(z, Shard());
  const Points points{x, z, space.shard, of_x.low.cwiseMin(of_z.low),
                      of_x.high.cwiseMax(of_z.high)};
  Frame& frame = space.frame;
  frame.origin = middle(points, of_x.sums, of_z.sums);
  const double largest =
      (points.high - frame.origin).cwiseMax(frame.origin - points.low).maxCoeff();
  frame.length = linalg::power_of_two_above(largest);
  if (span != Span::everything) frame.basis = span_basis(points, frame, span);
  space.x = space.shard.by_pieces(x, frame.rank(),
                                  [&](const Matrix& rows) { return frame.coordinates(rows); });
  space.z = space.shard.by_common_pieces(
      z, frame.rank(), [&](const Matrix& rows) { return frame.coordinates(rows); });
  return space;
}

}  // namespace remblai
