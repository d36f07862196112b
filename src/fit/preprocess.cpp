// Rows by themselves, or columns by means and deviations: of both domains together or of each.
#include "remblai/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

// Square roots of the shares of each row. Divided by the largest first, so that no sum overflows.
Matrix hellinger_rows(Matrix points) {
  for (Index i = 0; i < points.rows(); ++i) {
    auto row = points.row(i);
    Index place = 0;
    if (row.minCoeff(&place) < 0)
      throw Error({.field = "preprocess",
                   .value = "hellinger",
                   .problem = fmt::format("needs values of 0 or more; row {}, column {} (counted "
                                          "from 1) is {}",
                                          i + 1, place + 1, row[place]),
                   .remedy = "choose another $preprocess for points that are no histograms"});
    const double largest = row.maxCoeff();
    if (!(largest > 0)) continue;
    row /= largest;
    row = (row / row.sum()).cwiseSqrt();
  }
  return points;
}

struct Columns {
  Vector mean, scale;
};

// Means of the columns and their deviations around these.
Columns columns_of(const Matrix& points) {
  const auto count = static_cast<double>(points.rows());
  Columns columns{(points / count).colwise().sum(), Vector::Ones(points.cols())};
  for (Index j = 0; j < points.cols(); ++j) {
    const auto column = points.col(j).array();
    const double low = column.minCoeff(), high = column.maxCoeff();
    // A column that is constant up to rounding keeps the scale 1, since its deviation is rounding.
    if (!(high - low > 1e-14 * std::max(std::abs(low), std::abs(high)))) continue;
    const double largest = (column - columns.mean[j]).abs().maxCoeff();
    const double squares = ((column - columns.mean[j]) / largest).square().sum();
    columns.scale[j] = largest * std::sqrt(squares / count);
  }
  return columns;
}

}  // namespace

Scaler fit_scaler(Preprocess kind, const Domain& source_domain, const Domain& target_domain) {
  Scaler scaler;
  scaler.kind = kind;
  if (kind == Preprocess::none || kind == Preprocess::l2 || kind == Preprocess::hellinger)
    return scaler;
  const auto support = [](const Domain& domain) -> Matrix {
    return domain.points(positive_entries(domain.probabilities()), Eigen::all);
  };
  const Matrix source = support(source_domain), target = support(target_domain);
  if (kind == Preprocess::zscore) {
    Matrix both(source.rows() + target.rows(), source.cols());
    both << source, target;
    Columns columns = columns_of(both);
    scaler.mean = std::move(columns.mean);
    scaler.scale = std::move(columns.scale);
    return scaler;
  }
  Columns of_source = columns_of(source), of_target = columns_of(target);
  if (kind == Preprocess::centre) {
    of_source.scale.setOnes();
    of_target.scale.setOnes();
  }
  scaler.mean = std::move(of_source.mean);
  scaler.scale = std::move(of_source.scale);
  scaler.target_mean = std::move(of_target.mean);
  scaler.target_scale = std::move(of_target.scale);
  return scaler;
}

const Vector& Scaler::mean_of(Role role) const {
  return role == Role::target && target_mean.size() ? target_mean : mean;
}

const Vector& Scaler::scale_of(Role role) const {
  return role == Role::target && target_scale.size() ? target_scale : scale;
}

void Scaler::require_columns(const MatrixView& points) const {
  if (points.cols() != mean.size())
    throw Error({.field = "points",
                 .value = fmt::format("{} coordinates,", points.cols()),
                 .problem = fmt::format("the scaler was fitted on {}", mean.size()),
                 .remedy = "give points with the same features"});
}

Matrix Scaler::apply(const MatrixView& points, Role role) const {
  if (kind == Preprocess::l2) return unit_rows(points);
  if (kind == Preprocess::hellinger) return hellinger_rows(points);
  if (mean.size() == 0) return points;
  require_columns(points);
  return (points.rowwise() - mean_of(role).transpose()).array().rowwise() /
         scale_of(role).transpose().array();
}

Matrix Scaler::undo(const Matrix& points, Role role) const {
  if (kind == Preprocess::hellinger) return points.cwiseAbs2();
  if (mean.size() == 0) return points;
  require_columns(points);
  return (points.array().rowwise() * scale_of(role).transpose().array()).matrix().rowwise() +
         mean_of(role).transpose();
}

}  // namespace remblai
