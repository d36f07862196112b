// Barycentric maps: averages of the other domain under the conditional distributions of the plan.
#include "remblai/map.h"

#include "model/coupling.h"

namespace remblai {
namespace {

constexpr const char* way_back = "the way from target to source";

Matrix map_points(const Model& model, Direction direction, const MatrixView& points) {
  const DenseWork scope = dense_work_of(model);
  require_finite(points, "points");
  const bool forward = direction == Direction::forward;
  const Matrix inside = model.scaler.apply(points, forward ? Role::source : Role::target);
  return model.scaler.undo(coupling_of(model)->new_barycentres(direction, inside),
                           forward ? Role::target : Role::source);
}

}  // namespace

Matrix map(const Model& model) {
  const DenseWork scope = dense_work_of(model);
  return model.scaler.undo(coupling_of(model)->own_barycentres(Direction::forward));
}

Matrix map_back(const Model& model) {
  require_all_rows(model, way_back);
  const DenseWork scope = dense_work_of(model);
  return model.scaler.undo(coupling_of(model)->own_barycentres(Direction::backward), Role::source);
}

Matrix map(const Model& model, const MatrixView& points) {
  if (model.classes) require_all_rows(model, "the class of a new point");
  return map_points(model, Direction::forward, points);
}

Matrix map_back(const Model& model, const MatrixView& points) {
  require_all_rows(model, way_back);
  return map_points(model, Direction::backward, points);
}

}  // namespace remblai
