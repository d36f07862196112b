// Points as images: a rule that digits pass and tables of measurements do not, and sheets of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "remblai/error.h"
#include "report/page_sections.h"
#include "report/png.h"

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

/// Pixels of picture k, with `fill(k, pixel, bytes)` for each.
template <class Fill>
Json sheet(const ImageSize& size, Index count, int channels, Fill&& fill) {
  const Index across = std::min<Index>(20, std::max<Index>(1, count));
  const Index down = (count + across - 1) / across;
  const Index width = across * size.cols;
  Picture picture{static_cast<int>(width), static_cast<int>(down * size.rows), channels, {}};
  picture.pixels.resize(static_cast<std::size_t>(width * down * size.rows * channels));
  for (Index k = 0; k < count; ++k)
    for (Index r = 0; r < size.rows; ++r)
      for (Index c = 0; c < size.cols; ++c) {
        const Index y = k / across * size.rows + r, x = k % across * size.cols + c;
        fill(k, r * size.cols + c, picture.pixels.data() + (y * width + x) * channels);
      }
  return {{"uri", data_uri(picture)},
          {"across", across},
          {"down", down},
          {"width", size.cols},
          {"height", size.rows}};
}

std::uint8_t byte(double share) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
}

}  // namespace

ImageSize image_size(const Model& model, const PageOptions& options) {
  const Index d = model.metric.dimension();
  const ImageSize given = options.image_size;
  if (given.rows || given.cols) {
    // No product of the two: it may not fit.
    if (given.rows < 1 || given.cols < 1 || d % given.rows || d / given.rows != given.cols)
      throw Error({.field = "image size",
                   .value = fmt::format("{} x {}", given.rows, given.cols),
                   .problem = fmt::format("pixels do not make the {} features of a point", d),
                   .remedy = "give rows and columns whose product they are"});
    return given;
  }
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(d))));
  if (!options.images || d < 25 || side * side != d || !model.features.empty()) return {};
  constexpr Index enough = 200;
  const Matrix points = model.scaler.undo(
      model.source.points(sampled_rows(model.source.weights, enough), Eigen::all), Role::source);
  const double low = points.minCoeff(), high = points.maxCoeff();
  const bool bytes =
      high <= 255 + 1e-6 && ((points.array() - points.array().round()).abs() < 1e-6).all();
  if (low < -1e-6 || !(high > 0) || !(high <= 1 + 1e-6 || bytes)) return {};
  // A spectrum is smooth too, but only along itself: what lies below a value is no neighbour.
  const double across = difference(points, side, 1), down = difference(points, side, side);
  const double far = difference(points, side, side * (side / 2) + side / 2);
  const bool alike = std::max(across, down) <= 3 * std::min(across, down);
  return alike && across + down < 0.7 * 2 * far ? ImageSize{side, side} : ImageSize{};
}

Shades shades_of(const Model& model) {
  constexpr Index enough = 1000;
  const Matrix points = model.scaler.undo(
      model.source.points(sampled_rows(model.source.weights, enough), Eigen::all), Role::source);
  Shades shades;
  shades.low = points.minCoeff();
  shades.span = std::max(points.maxCoeff() - shades.low, 1e-300);
  shades.ink = (points.array() - shades.low < 0.05 * shades.span).cast<double>().mean() > 0.5;
  return shades;
}

Json sheet_of_points(const PageContext& context, const Matrix& points) {
  const Matrix shown = context.model.scaler.undo(points);
  const Shades& shades = context.shades;
  Json json = sheet(context.image, shown.rows(), 1, [&](Index k, Index pixel, std::uint8_t* to) {
    *to = byte((shown(k, pixel) - shades.low) / shades.span);
  });
  json["ink"] = shades.ink;
  return json;
}

Json sheet_of_weights(const PageContext& context, const Matrix& rows) {
  const Vector largest = rows.cwiseAbs().rowwise().maxCoeff().cwiseMax(1e-300);
  return sheet(context.image, rows.rows(), 4, [&](Index k, Index pixel, std::uint8_t* to) {
    const double weight = rows(k, pixel) / largest[k];
    const std::uint8_t blue[3] = {36, 113, 190}, orange[3] = {214, 99, 16};
    std::copy_n(weight >= 0 ? blue : orange, 3, to);
    to[3] = byte(std::abs(weight));
  });
}

}  // namespace remblai
