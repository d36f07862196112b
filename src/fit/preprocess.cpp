// Unit length and standard scores. A scaler is fitted on both domains together.
#include "remblai/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "remblai/error.h"

namespace remblai {
namespace {

// Every row divided by its length; a zero row stays zero. The squares neither overflow nor
// underflow.
Matrix unit_rows(Matrix points) {
  for (Index i = 0; i < points.rows(); ++i) {
    const double length = points.row(i).stableNorm();
    if (length > 0) points.row(i) /= length;
  }
  return points;
}

}  // namespace

Scaler fit_scaler(Preprocess kind, const Domain& source_domain, const Domain& target_domain) {
  Scaler scaler{.kind = kind, .mean = {}, .scale = {}};
  if (kind != Preprocess::zscore) return scaler;
  const auto support = [](const Domain& domain) -> Matrix {
    return domain.points(positive_entries(domain.probabilities()), Eigen::all);
  };
  const Matrix source = support(source_domain), target = support(target_domain);
  const double count = static_cast<double>(source.rows() + target.rows());
  const Index d = source.cols();
  scaler.mean = (source / count).colwise().sum() + (target / count).colwise().sum();
  scaler.scale = Vector::Ones(d);
  for (Index j = 0; j < d; ++j) {
    const double mean = scaler.mean[j];
    const double low = std::min(source.col(j).minCoeff(), target.col(j).minCoeff());
    const double high = std::max(source.col(j).maxCoeff(), target.col(j).maxCoeff());
    // A column that is constant up to rounding keeps the scale 1, since its deviation is rounding.
    if (!(high - low > 1e-14 * std::max(std::abs(low), std::abs(high)))) continue;
    const double largest = std::max((source.col(j).array() - mean).abs().maxCoeff(),
                                    (target.col(j).array() - mean).abs().maxCoeff());
    const double squares = ((source.col(j).array() - mean) / largest).square().sum() +
                           ((target.col(j).array() - mean) / largest).square().sum();
    scaler.scale[j] = largest * std::sqrt(squares / count);
  }
  return scaler;
}

void Scaler::require_columns(const MatrixView& points) const {
  if (points.cols() != mean.size())
    throw Error({.field = "points",
                 .value = fmt::format("{} coordinates,", points.cols()),
                 .problem = fmt::format("the scaler was fitted on {}", mean.size()),
                 .remedy = "give points with the same features"});
}

Matrix Scaler::apply(const MatrixView& points) const {
  if (kind == Preprocess::l2) return unit_rows(points);
  if (kind == Preprocess::none) return points;
  require_columns(points);
  return (points.rowwise() - mean.transpose()).array().rowwise() / scale.transpose().array();
}

Matrix Scaler::undo(const Matrix& points) const {
  if (kind != Preprocess::zscore) return points;
  require_columns(points);
  return (points.array().rowwise() * scale.transpose().array()).matrix().rowwise() +
         mean.transpose();
}

}  // namespace remblai
