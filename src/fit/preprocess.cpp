// Rows by themselves, or columns by means and deviations: of both domains together or of each.
#include "fit/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/linalg.h"
#include "remblai/error.h"

namespace remblai {
namespace {

// Every row divided by its length; a zero row stays zero. The squares neither overflow nor
// underflow.
Matrix unit_rows(Matrix points) {
  for (Index i = 0; i < points.rows(); ++i) {
    const double length = Vector(points.row(i)).stableNorm();  // the same wherever the row stands
    if (length > 0) points.row(i) /= length;
  }
  return points;
}

// Square roots of the shares of each row. Divided by the largest first, so that no sum overflows.
Matrix hellinger_rows(Matrix points, Index first) {
  for (Index i = 0; i < points.rows(); ++i) {
    auto row = points.row(i);
    Index place = 0;
    if (row.minCoeff(&place) < 0)
      throw Error({.field = "preprocess",
                   .value = "hellinger",
                   .problem = fmt::format("needs values of 0 or more; row {}, column {} (counted "
                                          "from 1) is {}",
                                          first + i + 1, place + 1, row[place]),
                   .remedy = "choose another $preprocess for points that are no histograms"});
    const double largest = row.maxCoeff();
    if (!(largest > 0)) continue;
    row /= largest;
    row = (row / Vector(row).sum()).cwiseSqrt();
  }
  return points;
}

struct Columns {
  Vector mean, scale;
};

// Means of the columns over both sets of points, and deviations around these. Either may be empty;
// `shard` is of the rows of x, and all processes have z.
Columns columns_of(const Matrix& x, const Matrix& z, const Shard& shard) {
  const auto count = static_cast<double>(shard.total(x.rows()) + z.rows());
  const Index d = x.cols();
  const auto sum = [&](const auto& entries) -> Vector {
    const Vector of_x = shard.sum(x.rows(), d, [&](Rows rows) -> Vector {
      return entries(x.middleRows(rows.begin, rows.end - rows.begin)).colwise().sum();
    });
    if (z.rows() == 0) return of_x;
    return of_x + entries(z).colwise().sum().transpose();
  };
  const auto most = [&](const auto& entries) -> Vector {
    Vector top = Vector::Constant(d, -std::numeric_limits<double>::infinity());
    for (const Matrix* points : {&x, &z})
      if (points->rows() > 0) top = top.cwiseMax(entries(*points).colwise().maxCoeff().transpose());
    return shard.maximum(top);
  };
  Columns columns{sum([&](const Matrix& points) -> Matrix { return points / count; }),
                  Vector::Ones(d)};
  const Vector high = most([](const Matrix& points) { return points; });
  const Vector low = -most([](const Matrix& points) -> Matrix { return -points; });
  const auto centred = [&](const Matrix& points) -> Matrix {
    return points.rowwise() - columns.mean.transpose();
  };
  const Vector largest =
      most([&](const Matrix& points) -> Matrix { return centred(points).cwiseAbs(); });
  const Vector squares = sum([&](const Matrix& points) -> Matrix {
    return (centred(points).array().rowwise() / largest.transpose().array()).square();
  });
  for (Index j = 0; j < d; ++j) {
    // A column that is constant up to rounding keeps the scale 1, since its deviation is rounding.
    if (!(high[j] - low[j] > 1e-14 * std::max(std::abs(low[j]), std::abs(high[j])))) continue;
    columns.scale[j] = largest[j] * std::sqrt(squares[j] / count);
  }
  return columns;
}

}  // namespace

bool looks_at_columns(Preprocess kind) {
  return kind != Preprocess::none && kind != Preprocess::l2 && kind != Preprocess::hellinger;
}

Scaler fit_scaler(Preprocess kind, const Domain& source, const Domain& target) {
  return fit_scaler(kind, {source.points, {}, source.probabilities()},
                    {target.points, {}, target.probabilities()}, {});
}

Scaler fit_scaler(Preprocess kind, const Domain& source_domain, const Domain& target_domain,
                  const Shard& all) {
  Scaler scaler;
  scaler.kind = kind;
  if (!looks_at_columns(kind)) return scaler;
  const auto support = [](const Domain& domain) -> Matrix {
    return domain.points(positive_entries(domain.weights), Eigen::all);
  };
  const Matrix source = support(source_domain), target = support(target_domain);
  const Shard shard = all.with_rows(source.rows());
  const Matrix none(0, source.cols());
  if (kind == Preprocess::zscore) {
    Columns columns = columns_of(source, target, shard);
    scaler.mean = std::move(columns.mean);
    scaler.scale = std::move(columns.scale);
    return scaler;
  }
  Columns of_source = columns_of(source, none, shard), of_target = columns_of(none, target, {});
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
  if (kind == Preprocess::hellinger) return hellinger_rows(points, 0);
  if (mean.size() == 0) return linalg::copy_of(points);
  require_columns(points);
  return (points.rowwise() - mean_of(role).transpose()).array().rowwise() /
         scale_of(role).transpose().array();
}

Matrix apply_from(const Scaler& scaler, const MatrixView& points, Role role, Index first) {
  return scaler.kind == Preprocess::hellinger ? hellinger_rows(points, first)
                                              : scaler.apply(points, role);
}

Matrix Scaler::undo(const Matrix& points, Role role) const {
  if (kind == Preprocess::hellinger) return points.cwiseAbs2();
  if (mean.size() == 0) return points;
  require_columns(points);
  return (points.array().rowwise() * scale_of(role).transpose().array()).matrix().rowwise() +
         mean_of(role).transpose();
}

}  // namespace remblai
