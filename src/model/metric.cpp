// Points seen through a metric. Nothing here is d x d but Metric::matrix.
#include "remblai/metric.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/linalg.h"
#include "remblai/error.h"

namespace remblai {
namespace {

// The columns that a basis of unit vectors picks, in order; empty for any other basis.
std::vector<Index> picked_columns(const Matrix& basis) {
  std::vector<Index> columns;
  for (Index i = 0; i < basis.rows(); ++i) {
    const auto next = static_cast<Index>(columns.size());
    bool unit = false;
    for (Index k = 0; k < basis.cols(); ++k) {
      if (basis(i, k) == 0) continue;
      if (basis(i, k) != 1 || k != next || unit) return {};
      unit = true;
    }
    if (unit) columns.push_back(i);
  }
  return columns;
}

}  // namespace

Matrix Frame::coordinates(const Matrix& points) const {
  if (points.cols() != dimension())
    throw Error({.field = "points",
                 .value = fmt::format("{} coordinates,", points.cols()),
                 .problem = fmt::format("the model has {}", dimension()),
                 .remedy = "give points with the features it was fitted on (are points in columns? "
                           "then transpose)"});
  // length is a power of two, so multiplying by its inverse is exact.
  const std::vector<Index> columns = picked_columns(basis);
  const Eigen::RowVectorXd from = columns.empty() ? origin : Vector(origin(columns));
  Matrix centred(points.rows(), from.size());
  linalg::for_rows(points.rows(), from.size(), [&](Index, Rows rows) {
    for (Index i = rows.begin; i < rows.end; ++i) {
      if (columns.empty())
        centred.row(i) = (points.row(i) - from) * (1 / length);
      else
        centred.row(i) = (points.row(i)(columns) - from) * (1 / length);
    }
  });
  return basis.size() && columns.empty() ? linalg::multiply(centred, basis) : centred;
}

Matrix Frame::displacements(const Matrix& coordinates) const {
  if (!basis.size()) return length * coordinates;
  return length * linalg::multiply(coordinates, basis, linalg::Op::none, linalg::Op::transpose);
}

Matrix Metric::embed(const Matrix& points) const {
  Matrix inside = frame.coordinates(points);
  return factor.size() ? linalg::multiply(inside, factor, linalg::Op::none, linalg::Op::transpose)
                       : inside;
}

// Differences are formed before they are squared, so that near points keep their distance.
Matrix Metric::distances(const Matrix& a, const Matrix& b) const {
  const auto pairs = [](const Matrix& from, const Matrix& to) {
    Matrix squares(from.rows(), to.rows());
    for (Index i = 0; i < from.rows(); ++i)
      squares.row(i) = (to.rowwise() - from.row(i)).rowwise().squaredNorm().transpose();
    return squares;
  };
  Matrix total = pairs(embed(a), embed(b));
  if (frame.basis.size()) {
    const auto rest = [&](const Matrix& points) {
      Matrix left = (points.rowwise() - frame.origin.transpose()) * (1 / frame.length);
      linalg::gemm(linalg::Op::none, frame.coordinates(points), linalg::Op::transpose, frame.basis,
                   -1, 1, left);
      return left;
    };
    total += outside * pairs(rest(a), rest(b));
  }
  return std::sqrt(unit) * total.cwiseSqrt();
}

Matrix Metric::matrix() const {
  const Index d = dimension();
  const double multiple = unit / frame.length / frame.length;
  if (!frame.basis.size())
    return factor.size() ? Matrix(multiple * linalg::gram(factor))
                         : Matrix(multiple * Matrix::Identity(d, d));
  // V (F'F - outside I) V' + outside I
  Matrix inside = factor.size() ? linalg::gram(factor) : Matrix(Matrix::Identity(rank(), rank()));
  inside.diagonal().array() -= outside;
  Matrix a = linalg::multiply(linalg::multiply(frame.basis, inside), frame.basis, linalg::Op::none,
                              linalg::Op::transpose);
  a = (0.5 * multiple) * (a + a.transpose()).eval();
  a.diagonal().array() += multiple * outside;
  return a;
}

}  // namespace remblai
