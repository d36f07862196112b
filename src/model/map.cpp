// Barycentric maps: averages of the other domain under the conditional distributions of the plan.
#include "remblai/map.h"

#include "model/conditional.h"

namespace remblai {
namespace {

Matrix map_points(const Model& model, Direction direction, const MatrixView& points) {
  const linalg::Threads scope = threads_of(model);
  require_finite(points, "points");
  return model.scaler.undo(barycentres(model, direction, model.scaler.apply(points)));
}

}  // namespace

Matrix map(const Model& model) {
  const linalg::Threads scope = threads_of(model);
  return model.scaler.undo(own_barycentres(model, Direction::forward));
}

Matrix map_back(const Model& model) {
  const linalg::Threads scope = threads_of(model);
  return model.scaler.undo(own_barycentres(model, Direction::backward));
}

Matrix map(const Model& model, const MatrixView& points) {
  return map_points(model, Direction::forward, points);
}

Matrix map_back(const Model& model, const MatrixView& points) {
  return map_points(model, Direction::backward, points);
}

}  // namespace remblai
