// Rows of the cost matrix, kept or made by a matrix product.
#include "transport/costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/linalg.h"
#include "transport/pairs.h"

namespace remblai {
namespace {

// 1 in double, which needs none.
template <class T>
double unit_for(double largest) {
  if (std::is_same_v<T, double> || !(largest > 0) || !std::isfinite(largest)) return 1;
  return std::exp2(std::ceil(std::log2(largest)));
}

}  // namespace

template <class T>
Costs<T>::Costs(Matrix matrix)
    : stored_(true),
      alpha_(Vector::Zero(matrix.rows())),
      beta_(Vector::Zero(matrix.cols())),
      largest_(matrix.size() ? matrix.maxCoeff() : 0) {
  unit_ = unit_for<T>(matrix.size() ? matrix.cwiseAbs().maxCoeff() : 0);
  if constexpr (std::is_same_v<T, double>)
    matrix_ = std::move(matrix);
  else
    matrix_ = (matrix / unit_).template cast<T>();
}

template <class T>
Costs<T>::Costs(const Matrix& x, const Matrix& z, bool stored) : stored_(stored) {
  // From the middle of x, so that few digits are lost.
  const Eigen::RowVectorXd centre = x.colwise().mean();
  const auto farthest = [&](const Matrix& points) {
    return points.rows() ? (points.rowwise() - centre).rowwise().norm().maxCoeff() : 0.0;
  };
  largest_ = std::pow(farthest(x) + farthest(z), 2);
  const double length = std::sqrt(unit_for<T>(4 * largest_));
  const double size = std::is_same_v<T, double> ? 1 : std::exp2(std::ceil(std::log2(length)));
  unit_ = size * size;
  if (stored) {
    alpha_ = Vector::Zero(x.rows());
    beta_ = Vector::Zero(z.rows());
    if constexpr (std::is_same_v<T, double>) {
      squared_distances(x, z, matrix_);
      largest_ = matrix_.size() ? matrix_.maxCoeff() : 0;
      return;
    }
    matrix_.resize(x.rows(), z.rows());
    largest_ = 0;
    for (Index first = 0; first < x.rows(); first += 256) {
      const Index count = std::min<Index>(256, x.rows() - first);
      Matrix distances;
      squared_distances(x.middleRows(first, count), z, distances);
      largest_ = std::max(largest_, distances.maxCoeff());
      matrix_.middleRows(first, count) = (distances / unit_).template cast<T>();
    }
    return;
  }
  x_ = ((x.rowwise() - centre) / size).template cast<T>();
  z_ = ((z.rowwise() - centre) / size).template cast<T>();
  alpha_ = x_.template cast<double>().rowwise().squaredNorm();
  beta_ = z_.template cast<double>().rowwise().squaredNorm();
}

template <class T>
const T* Costs<T>::entries(Rows rows, RowMatrix<T>& scratch) const {
  if (stored()) return matrix_.row(rows.begin).data();
  scratch.resize(rows.end - rows.begin, columns());
  linalg::rows_times_transpose(x_, rows.begin, z_, T(-2), scratch);
  return scratch.data();
}

template <class T>
Vector Costs<T>::column(Index j) const {
  if (stored()) return unit_ * matrix_.col(j).template cast<double>();
  return unit_ * (x_.rowwise() - z_.row(j)).rowwise().squaredNorm().template cast<double>();
}

template <class T>
double Costs<T>::between(const Vector& a, const Vector& b) const {
  if (stored()) {
    double sum = 0;
    for (Index i = 0; i < matrix_.rows(); ++i)
      sum += a[i] * matrix_.row(i).template cast<double>().dot(b);
    return unit_ * sum;
  }
  const Vector left = x_.transpose().template cast<double>() * a;
  const Vector right = z_.transpose().template cast<double>() * b;
  return unit_ * (a.dot(alpha_) * b.sum() + b.dot(beta_) * a.sum() - 2 * left.dot(right));
}

template class Costs<double>;
template class Costs<float>;

}  // namespace remblai
