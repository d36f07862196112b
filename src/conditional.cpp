// Conditional distributions from potentials, with a max-shift: never 0/0 however far a point is.
#include "conditional.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linalg.h"
#include "pairs.h"
#include "simd.h"

namespace remblai {
namespace {

constexpr double block_entries = 4e6;

// Rows of the plan normalised, for the point of the model nearest to each point given.
class ExactConditionals {
 public:
  ExactConditionals(const Model& model, bool forward)
      : own_weights_(forward ? model.source.weights : model.target.weights),
        plan_(Matrix::Zero(own_weights_.size(),
                           (forward ? model.target.weights : model.source.weights).size())) {
    for (const Mass& mass : model.exact)
      (forward ? plan_(mass.source, mass.target) : plan_(mass.target, mass.source)) = mass.amount;
    for (Index i = 0; i < plan_.rows(); ++i)
      if (own_weights_[i] > 0) plan_.row(i) /= plan_.row(i).sum();
  }

  void fill(Matrix& costs_to_own, Matrix& weights) const {
    for (Index i = 0; i < costs_to_own.rows(); ++i) {
      Index nearest = -1;
      for (Index k = 0; k < costs_to_own.cols(); ++k)
        if (own_weights_[k] > 0 && (nearest < 0 || costs_to_own(i, k) < costs_to_own(i, nearest)))
          nearest = k;
      weights.row(i) = plan_.row(nearest);
    }
  }

 private:
  const Vector& own_weights_;
  Matrix plan_;
};

void softmax_rows(const Matrix& costs, const Vector& exponents, double scale, Matrix& weights) {
  for (Index i = 0; i < costs.rows(); ++i) {
    const double* c = costs.row(i).data();
    const double top = simd::shifted_max(c, exponents.data(), scale, costs.cols());
    weights.row(i) /= simd::exp2_row(c, exponents.data(), scale, -top, weights.row(i).data(), costs.cols());
  }
}

}  // namespace

void visit_conditionals(const Model& model, Direction direction, const Matrix& points,
                        const ConditionalVisitor& visit) {
  const bool forward = direction == Direction::forward;
  const bool entropic = model.lambda > 0;
  const Domain& own = forward ? model.source : model.target;
  const Domain& other = forward ? model.target : model.source;
  const Matrix anchors = model.metric.embed(entropic ? other.points : own.points);
  const double scale = std::numbers::log2e * model.metric.unit / model.lambda;
  const Vector exponents = (forward ? model.g : model.f) * (std::numbers::log2e / model.lambda);

  const Index block = std::max<Index>(1, static_cast<Index>(block_entries) / anchors.rows());
  Matrix costs, weights;
  const auto for_blocks = [&](auto&& fill) {
    for (Index first = 0; first < points.rows(); first += block) {
      const Index count = std::min(block, points.rows() - first);
      squared_distances(model.metric.embed(points.middleRows(first, count)), anchors, costs);
      weights.resize(count, other.size());
      fill();
      visit(first, weights);
    }
  };
  if (entropic) {
    for_blocks([&] { softmax_rows(costs, exponents, scale, weights); });
  } else {
    const ExactConditionals exact(model, forward);
    for_blocks([&] { exact.fill(costs, weights); });
  }
}

Matrix barycentres(const Model& model, Direction direction, const Matrix& points) {
  const Matrix& other =
      direction == Direction::forward ? model.target.points : model.source.points;
  Matrix mapped(points.rows(), other.cols());
  visit_conditionals(model, direction, points, [&](Index first, const Matrix& weights) {
    mapped.middleRows(first, weights.rows()) = linalg::multiply(weights, other);
  });
  return mapped;
}

}  // namespace remblai
