// Do the points look like images? A rule that digits pass and tables of measurements do not.
#include <fmt/format.h>

#include <cmath>

#include "page_data.h"
#include "remblai/error.h"

namespace remblai {
namespace {

/// Mean squared difference of the pixels that `apart` places separate, row by row of the image.
double difference(const Matrix& points, Index cols, Index apart) {
  double sum = 0;
  for (Index k = 0; k + apart < points.cols(); ++k)
    if (apart >= cols || k % cols + apart < cols)
      sum += (points.col(k) - points.col(k + apart)).squaredNorm();
  const Index rows = points.cols() / cols;
  const Index count = apart >= cols ? points.cols() - apart : rows * (cols - apart);
  return sum / static_cast<double>(count);
}

}  // namespace

ImageSize image_size(const Model& model, const PageOptions& options) {
  const Index d = model.metric.dimension();
  const ImageSize given = options.image_size;
  if (given.rows || given.cols) {
    // No product of the two: it may not fit.
    if (given.rows < 1 || given.cols < 1 || d % given.rows || d / given.rows != given.cols)
      throw Error(fmt::format("image size: {} x {} pixels do not make the {} features of a point",
                              given.rows, given.cols, d));
    return given;
  }
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(d))));
  if (!options.images || d < 25 || side * side != d || !model.features.empty()) return {};
  constexpr Index enough = 200;
  const Matrix points = model.scaler.undo(
      model.source.points(sampled_rows(model.source.weights, enough), Eigen::all));
  const double low = points.minCoeff(), high = points.maxCoeff();
  const bool bytes =
      high <= 255 + 1e-6 && ((points.array() - points.array().round()).abs() < 1e-6).all();
  if (low < -1e-6 || !(high > 0) || !(high <= 1 + 1e-6 || bytes)) return {};
  const double near = difference(points, side, 1) + difference(points, side, side);
  const double far = 2 * difference(points, side, side * (side / 2) + side / 2);
  return near < 0.7 * far ? ImageSize{side, side} : ImageSize{};
}

}  // namespace remblai
