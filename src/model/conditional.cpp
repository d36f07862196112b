// Conditional distributions from potentials, with a max-shift: never 0/0 however far a point is.
#include "model/conditional.h"

#include <algorithm>
#include <numbers>

#include "base/simd.h"
#include "remblai/error.h"
#include "remblai/threads.h"
#include "transport/pairs.h"

namespace remblai {
namespace {

// Calls body(first, count) over blocks of rows so that rows x columns stays around 32 MB.
template <class Body>
void for_blocks(Index rows, Index columns, Body&& body) {
  const Index block = std::max<Index>(1, 4'000'000 / columns);
  for (Index first = 0; first < rows; first += block) body(first, std::min(block, rows - first));
}

// The rows of the exact plan (its columns when backward), each divided by its sum.
Matrix exact_conditionals(const Model& model, bool forward) {
  Matrix plan = Matrix::Zero(forward ? model.source.size() : model.target.size(),
                             forward ? model.target.size() : model.source.size());
  for (const Mass& mass : model.exact)
    (forward ? plan(mass.source, mass.target) : plan(mass.target, mass.source)) = mass.amount;
  for (Index i = 0; i < plan.rows(); ++i)
    if (const double sum = plan.row(i).sum(); sum > 0) plan.row(i) /= sum;
  return plan;
}

void visit_exact(const Model& model, Direction direction, const Matrix& points,
                 const ConditionalVisitor& visit) {
  const Matrix rows = exact_conditionals(model, direction == Direction::forward);
  const std::vector<Index> nearest = nearest_moved(model, direction, points);
  for_blocks(points.rows(), rows.cols(), [&](Index first, Index count) {
    const std::vector<Index> block(nearest.begin() + first, nearest.begin() + first + count);
    visit(first, rows(block, Eigen::all));
  });
}

}  // namespace

linalg::Threads threads_of(const Model& model) {
  return linalg::Threads(thread_count(model.options.threads));
}

void visit_conditionals(const Model& model, Direction direction, const Matrix& points,
                        const ConditionalVisitor& visit) {
  if (model.f.size() == 0 || model.g.size() == 0)
    throw Error("model: it holds no plan; use one that fit returned");
  if (model.lambda == 0) return visit_exact(model, direction, points, visit);
  const bool forward = direction == Direction::forward;
  const Matrix anchors = model.metric.embed(forward ? model.target.points : model.source.points);
  const double scale = std::numbers::log2e * model.metric.unit / model.lambda;
  // Exponents g/lambda - |z|^2 scale, base 2; |x|^2 is the same for every z and cancels.
  const Eigen::RowVectorXd offsets =
      ((forward ? model.g : model.f) * (std::numbers::log2e / model.lambda) -
       scale * anchors.rowwise().squaredNorm())
          .transpose();
  Matrix weights;
  for_blocks(points.rows(), anchors.rows(), [&](Index first, Index count) {
    weights.resize(count, anchors.rows());
    linalg::gemm(linalg::Op::none, model.metric.embed(points.middleRows(first, count)),
                 linalg::Op::transpose, anchors, 2 * scale, 0, weights);
    for (Index i = 0; i < count; ++i) {
      auto row = weights.row(i);
      row += offsets;
      row.array() -= row.maxCoeff();
      simd::exp2(row.data(), row.data(), row.size());
      row /= row.sum();
    }
    visit(first, weights);
  });
}

// With lambda = 0 the barycentre belongs to the nearest point of the model; what lies between the
// two is kept, so that new points do not collapse onto the old.
Matrix barycentres(const Model& model, Direction direction, const Matrix& points) {
  const bool forward = direction == Direction::forward;
  const Matrix& other = forward ? model.target.points : model.source.points;
  Matrix mapped(points.rows(), other.cols());
  visit_conditionals(model, direction, points, [&](Index first, const Matrix& weights) {
    mapped.middleRows(first, weights.rows()) = linalg::multiply(weights, other);
  });
  if (model.lambda > 0) return mapped;
  const Matrix& own = forward ? model.source.points : model.target.points;
  return mapped + points - own(nearest_moved(model, direction, points), Eigen::all);
}

Matrix own_barycentres(const Model& model, Direction direction) {
  const bool forward = direction == Direction::forward;
  const Matrix& own = forward ? model.source.points : model.target.points;
  const Matrix& other = forward ? model.target.points : model.source.points;
  Matrix mapped = barycentres(model, direction, own);
  if (model.lambda > 0) return mapped;
  Matrix sums = Matrix::Zero(mapped.rows(), mapped.cols());
  Vector masses = Vector::Zero(mapped.rows());
  for (const Mass& mass : model.exact) {
    const Index from = forward ? mass.source : mass.target;
    const Index to = forward ? mass.target : mass.source;
    sums.row(from) += mass.amount * other.row(to);
    masses[from] += mass.amount;
  }
  for (const Index i : positive_entries(masses)) mapped.row(i) = sums.row(i) / masses[i];
  return mapped;
}

std::vector<Index> nearest_moved(const Model& model, Direction direction, const Matrix& points) {
  const bool forward = direction == Direction::forward;
  const Domain& own = forward ? model.source : model.target;
  Vector masses = Vector::Zero(own.size());
  for (const Mass& mass : model.exact) masses[forward ? mass.source : mass.target] += mass.amount;
  const std::vector<Index> moved = positive_entries(masses);
  const Matrix anchors = model.metric.embed(own.points(moved, Eigen::all));
  std::vector<Index> nearest;
  Matrix costs;
  for_blocks(points.rows(), anchors.rows(), [&](Index first, Index count) {
    squared_distances(model.metric.embed(points.middleRows(first, count)), anchors, costs);
    for (Index i = 0; i < count; ++i) {
      Index best = 0;
      costs.row(i).minCoeff(&best);
      nearest.push_back(moved[static_cast<std::size_t>(best)]);
    }
  });
  return nearest;
}

}  // namespace remblai
