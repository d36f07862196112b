// Support, span and scale of the data, and the reference matrix (prior or fixed metric) in them.
#include "fit/space.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

#include "base/linalg.h"
#include "fit/moment.h"
#include "remblai/error.h"
#include "remblai/spd.h"

namespace remblai {
namespace {

// What stands for D when the metric is learned, for A when it is fixed.
PriorChoice reference_choice(const Options& options) {
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

// The power of two just above `size`, so that divisions are exact.
double power_of_two(double size) {
  return size > 0 ? std::exp2(std::ceil(std::log2(size))) : 1;
}

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

// Span of the displacements, and of the origin when W counts, which sees where zero is. The origin
// is a row of its own size, so that displacements far from zero are not taken for rounding.
Matrix span(const Matrix& x, const Matrix& z, const Metric& frame, bool with_origin) {
  const double far = frame.origin.cwiseAbs().maxCoeff();
  const bool extra = with_origin && far > 0;
  Matrix rows(x.rows() + z.rows() + (extra ? 1 : 0), x.cols());
  rows.topRows(x.rows()) = x.rowwise() - frame.origin.transpose();
  rows.middleRows(x.rows(), z.rows()) = z.rowwise() - frame.origin.transpose();
  rows /= frame.length;
  if (extra) rows.bottomRows(1) = frame.origin.transpose() / far;
  Matrix basis = linalg::row_space(rows);
  if (basis.cols() == 0) basis = Matrix::Identity(x.cols(), 1);
  return basis.cols() < x.cols() ? basis : Matrix();
}

// Which directions the coordinates of a space keep.
enum class Span { everything, displacements, with_origin };

// Support, frame and coordinates.
Space place(const Problem& problem, const Matrix& source, const Matrix& target, Span kind) {
  Space space;
  const Vector p = problem.source.probabilities();
  const Vector q = problem.target.probabilities();
  space.source_rows = positive_entries(p);
  space.target_rows = positive_entries(q);
  space.p = p(space.source_rows);
  space.q = q(space.target_rows);
  const Matrix x = source(space.source_rows, Eigen::all);
  const Matrix z = target(space.target_rows, Eigen::all);
  Metric& frame = space.frame;
  frame.origin = middle(x, z);
  frame.length = power_of_two(
      std::max(largest_difference(x, frame.origin), largest_difference(z, frame.origin)));
  space.spans_origin = kind == Span::with_origin;
  if (kind != Span::everything) frame.basis = span(x, z, frame, space.spans_origin);
  space.x = frame.coordinates(x);
  space.z = frame.coordinates(z);
  return space;
}

SpanMatrix factored(const Matrix& inside, double outside, double scale, const char* name) {
  SpanMatrix matrix{inside, {}, outside, scale};
  if (!linalg::cholesky(inside, matrix.lower))
    throw Error(
        fmt::format("{}: not positive definite to working precision; add a multiple of the "
                    "identity",
                    name));
  return matrix;
}

// W = X'X + Z'Z, or its inverse, with a ridge relative to the mean eigenvalue. Outside the span of
// the points and the origin only the ridge is left.
SpanMatrix scatter(const Space& space, double ridge, bool inverse) {
  const Metric& frame = space.frame;
  // W measures from zero, the coordinates from the origin of the frame.
  Vector shift = frame.origin / frame.length;
  if (frame.basis.size()) shift = frame.basis.transpose() * shift;
  Matrix points(space.x.rows() + space.z.rows(), frame.rank());
  points << space.x, space.z;
  points.rowwise() += shift.transpose();
  Matrix w = linalg::gram(points);
  const double mean = w.trace() / static_cast<double>(frame.dimension());
  if (!(mean > 0))
    throw Error(
        "prior w: all points are zero, so W = X'X + Z'Z is zero; choose the prior identity");
  if (ridge == 0 && frame.basis.size())
    throw Error({.field = "prior-ridge",
                 .value = "0",
                 .problem = fmt::format("leaves W = X'X + Z'Z singular, for the points span {} of "
                                        "{} dimensions",
                                        frame.rank(), frame.dimension()),
                 .remedy = "give a positive ridge (for example 0.001)"});
  w /= mean;
  w.diagonal().array() += ridge;
  Matrix lower;
  if (!linalg::cholesky(w, lower))
    throw Error({.field = "prior-ridge",
                 .value = fmt::format("{}", ridge),
                 .problem = "leaves W = X'X + Z'Z singular to working precision",
                 .remedy = "give a larger ridge (for example 0.001)"});
  const double scale = frame.length * frame.length * mean;
  if (!inverse) return {w, lower, ridge, scale};
  const Matrix half = linalg::solve_lower(lower, Matrix::Identity(w.rows(), w.cols()));
  return factored(linalg::gram(half), 1 / ridge, 1 / scale, "prior w-inverse");
}

SpanMatrix given(const Matrix& matrix, Index d, const char* name) {
  if (matrix.rows() != d || matrix.cols() != d)
    throw Error({.field = name,
                 .problem = fmt::format("the matrix is {} x {}, the points have {} coordinates",
                                        matrix.rows(), matrix.cols(), d),
                 .remedy = fmt::format("give a {} x {} matrix", d, d)});
  spd::require(matrix, name);
  const double mean = matrix.trace() / static_cast<double>(d);
  return factored(matrix / mean, 1, mean, name);
}

}  // namespace

Space make_space(const Problem& problem, const Matrix& source, const Matrix& target,
                 const Options& options) {
  const PriorChoice choice = reference_choice(options);
  const bool learned = options.metric == MetricChoice::learned;
  Span kind = Span::everything;
  if (choice == PriorChoice::w || choice == PriorChoice::w_inverse) kind = Span::with_origin;
  // A given matrix mixes all directions, and the identity as a fixed metric needs no metric step.
  if (choice == PriorChoice::identity && learned) kind = Span::displacements;
  Space space = place(problem, source, target, kind);
  if (learned) space.first_moment = second_moment(space, first_plan(space, 0));
  set_reference(space, problem, options);
  return space;
}

Space make_shared_space(const Problem& problem, const Matrix& source, const Matrix& target) {
  Space space = place(problem, source, target, Span::with_origin);
  space.first_moment = second_moment(space, first_plan(space, 0));
  return space;
}

void set_reference(Space& space, const Problem&, const Options& options) {
  const bool learned = options.metric == MetricChoice::learned;
  const PriorChoice choice = reference_choice(options);
  [[maybe_unused]] const bool reduced = space.frame.basis.size() > 0;
  switch (choice) {
    case PriorChoice::identity:
      space.reference = {};
      break;
    case PriorChoice::w:
    case PriorChoice::w_inverse:
      assert(!reduced || space.spans_origin);
      space.reference = scatter(space, options.prior_ridge, choice == PriorChoice::w_inverse);
      break;
    case PriorChoice::given:
      assert(!reduced);
      space.reference = given(learned ? options.prior.matrix() : options.metric.matrix(),
                              space.dimension(), learned ? "prior" : "metric");
  }
}

}  // namespace remblai
