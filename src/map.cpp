// Barycentric maps: averages of the other domain under the conditional distributions of the plan.
#include "remblai/map.h"

#include <fmt/format.h>

#include "conditional.h"
#include "remblai/error.h"

namespace remblai {
namespace {

// With lambda = 0 the barycentre belongs to the nearest point of the model; what lies between the
// two is kept, so that new points do not collapse onto the old.
Matrix keep_offset(const Model& model, Direction direction, const Matrix& points, Matrix mapped) {
  const Domain& own = direction == Direction::forward ? model.source : model.target;
  const std::vector<Index> nearest = nearest_moved(model, direction, points);
  return mapped + points - own.points(nearest, Eigen::all);
}

Matrix map_points(const Model& model, Direction direction, const Matrix& points) {
  if (points.cols() != model.metric.dimension())
    throw Error(
        fmt::format("points: {} coordinates, the model has {}; give points with the features the "
                    "model was fitted on (are points in columns? then transpose)",
                    points.cols(), model.metric.dimension()));
  require_finite(points, "points");
  const Matrix scaled = model.scaler.apply(points);
  Matrix mapped = barycentres(model, direction, scaled);
  if (model.lambda == 0) mapped = keep_offset(model, direction, scaled, std::move(mapped));
  return model.scaler.undo(mapped);
}

}  // namespace

Matrix map(const Model& model) {
  return model.scaler.undo(source_barycentres(model));
}

Matrix map(const Model& model, const Matrix& points) {
  return map_points(model, Direction::forward, points);
}

Matrix map_back(const Model& model, const Matrix& points) {
  return map_points(model, Direction::backward, points);
}

}  // namespace remblai
