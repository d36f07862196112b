// The matrices that options name: the identity, W and its inverse, the caller's own.
#include "fit/span_matrix.h"

#include <fmt/format.h>

#include <cassert>

#include "base/linalg.h"
#include "fit/moment.h"
#include "remblai/error.h"
#include "remblai/spd.h"

namespace remblai {
namespace {

// What stands for D when the metric is learned, for A when it is fixed.
PriorChoice choice_of(const Options& options) {
  switch (options.metric.kind()) {
    case MetricChoice::learned:
      return options.prior.kind();
    case MetricChoice::identity:
      return PriorChoice::identity;
    case MetricChoice::w:
      return PriorChoice::w;
    case MetricChoice::w_inverse:
      return PriorChoice::w_inverse;
    case MetricChoice::given:
      return PriorChoice::given;
  }
  return PriorChoice::identity;
}

SpanMatrix factored(const Matrix& inside, double outside, double scale, const char* field) {
  SpanMatrix matrix{inside, {}, outside, scale};
  if (!linalg::cholesky(inside, matrix.lower))
    throw Error({.field = field,
                 .value = {},
                 .problem = "not positive definite to working precision",
                 .remedy = "add a multiple of the identity"});
  return matrix;
}

// The Gram matrix of the points of both domains, measured from zero and in units of the frame's
// length.
Matrix gram_from_zero(const Space& space) {
  const Frame& frame = space.frame;
  Vector shift = frame.origin / frame.length;
  if (frame.basis.size()) shift = frame.basis.transpose() * shift;
  if (!space.shard.divided()) {
    Matrix points(space.x.rows() + space.z.rows(), space.rank());
    points << space.x, space.z;
    points.rowwise() += shift.transpose();
    return linalg::gram(points);
  }
  const auto gram = [&](const Matrix& points) {
    return linalg::gram(points.rowwise() + shift.transpose());
  };
  const auto sum = [&](const Shard& shard, const Matrix& points) {
    return shard.sum(points.rows(), space.rank(), space.rank(), [&](Rows rows) {
      return gram(points.middleRows(rows.begin, rows.end - rows.begin));
    });
  };
  return sum(space.shard, space.x) + sum(space.targets, space.z);
}

// W = X'X + Z'Z, or its inverse, with a ridge relative to the mean eigenvalue. Outside the span of
// the points and the origin only the ridge is left.
SpanMatrix scatter(const Space& space, double ridge, bool inverse, const char* field) {
  const Frame& frame = space.frame;
  Matrix w = gram_from_zero(space);
  const double mean = w.trace() / static_cast<double>(frame.dimension());
  if (!(mean > 0))
    throw Error({.field = field,
                 .value = inverse ? "w-inverse" : "w",
                 .problem = "cannot be had: all points are zero, and so is W = X'X + Z'Z",
                 .remedy = fmt::format("choose the {} identity", field)});
  if (ridge == 0 && frame.basis.size())
    throw Error({.field = "prior-ridge",
                 .value = "0",
                 .problem = fmt::format("leaves W = X'X + Z'Z singular, for the points span {} of "
                                        "{} dimensions",
                                        frame.rank(), frame.dimension()),
                 .remedy = "give a positive $prior-ridge (for example 0.001)"});
  w /= mean;
  w.diagonal().array() += ridge;
  Matrix lower;
  if (!linalg::cholesky(w, lower))
    throw Error({.field = "prior-ridge",
                 .value = fmt::format("{}", ridge),
                 .problem = "leaves W = X'X + Z'Z singular to working precision",
                 .remedy = "give a larger $prior-ridge (for example 0.001)"});
  const double scale = frame.length * frame.length * mean;
  // Where the span is the whole space there is nothing outside, and the ridge may be 0.
  const double outside = frame.basis.size() ? ridge : 1;
  if (!inverse) return {w, lower, outside, scale};
  const Matrix half = linalg::solve_lower(lower, Matrix::Identity(w.rows(), w.cols()));
  return factored(linalg::gram(half), 1 / outside, 1 / scale, field);
}

SpanMatrix given(const Matrix& matrix, Index d, const char* field) {
  if (matrix.rows() != d || matrix.cols() != d)
    throw Error({.field = field,
                 .value = fmt::format("a {} x {} matrix", matrix.rows(), matrix.cols()),
                 .problem = fmt::format("does not fit points of {} coordinates", d),
                 .remedy = fmt::format("give a {} x {} matrix", d, d)});
  spd::require(matrix, field);
  const double mean = matrix.trace() / static_cast<double>(d);
  return factored(matrix / mean, 1, mean, field);
}

// sum_i w_i (x_i - mean)(x_i - mean)'.
Matrix covariance(const Matrix& points, const Vector& weights, const Shard& shard) {
  const Eigen::RowVectorXd mean = weighted_mean(points, weights, shard);
  const auto gram = [&](Rows rows) {
    const Index count = rows.end - rows.begin;
    return linalg::gram(weights.segment(rows.begin, count).cwiseSqrt().asDiagonal() *
                        (points.middleRows(rows.begin, count).rowwise() - mean));
  };
  return shard.sum(points.rows(), points.cols(), points.cols(), gram);
}

}  // namespace

SpanMatrix spread_matrix(const Space& space, double ridge) {
  Matrix s = 0.5 * (covariance(space.x, space.p, space.shard) +
                    covariance(space.z, space.own_q(), space.targets));
  const double trace = s.trace();
  // Coordinates are of size 1: less than this is the rounding of two clouds that are one point
  // each.
  const double unit = trace > 1e-28 ? s.squaredNorm() / trace : 1;
  const bool partial = space.frame.basis.size() > 0;
  s /= unit;
  s.diagonal().array() += ridge;
  SpanMatrix matrix{s, {}, partial ? ridge : 1, 1, unit};
  if ((partial && ridge == 0) || !linalg::cholesky(s, matrix.lower))
    throw Error({.field = "prior-ridge",
                 .value = fmt::format("{}", ridge),
                 .problem = "leaves the spread of the points singular",
                 .remedy = "give a larger $prior-ridge (for example 0.01)"});
  return matrix;
}

SpanMatrix reference_matrix(const Space& space, const Options& options) {
  const bool learned = options.metric == MetricChoice::learned;
  const PriorChoice choice = choice_of(options);
  const char* field = learned ? "prior" : "metric";
  switch (choice) {
    case PriorChoice::automatic:
    case PriorChoice::identity:
      break;
    case PriorChoice::w:
    case PriorChoice::w_inverse:
      return scatter(space, options.prior_ridge, choice == PriorChoice::w_inverse, field);
    case PriorChoice::spread:
      return spread_matrix(space, options.prior_ridge);
    case PriorChoice::given:
      assert(space.frame.basis.size() == 0);
      return given(learned ? options.prior.matrix() : options.metric.matrix(), space.dimension(),
                   field);
  }
  return {};
}

}  // namespace remblai
