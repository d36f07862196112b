// Rows of the cost matrix, kept or made by a matrix product.
#include "costs.h"

#include <cmath>

#include "linalg.h"
#include "pairs.h"

namespace remblai {

template <class T>
Costs<T>::Costs(const Matrix& matrix)
    : matrix_(matrix.cast<T>()),
      alpha_(Vector::Zero(matrix.rows())),
      beta_(Vector::Zero(matrix.cols())),
      largest_(matrix.size() ? matrix.maxCoeff() : 0) {}

template <class T>
Costs<T>::Costs(const Matrix& x, const Matrix& z, bool stored) {
  if (stored) {
    Matrix distances;
    squared_distances(x, z, distances);
    largest_ = distances.maxCoeff();
    alpha_ = Vector::Zero(x.rows());
    beta_ = Vector::Zero(z.rows());
    if constexpr (std::is_same_v<T, double>)
      matrix_ = std::move(distances);
    else
      matrix_ = distances.cast<T>();
    return;
  }
  // From the middle of x, so that few digits are lost.
  const Eigen::RowVectorXd centre = x.colwise().mean();
  x_ = (x.rowwise() - centre).template cast<T>();
  z_ = (z.rowwise() - centre).template cast<T>();
  alpha_ = x_.template cast<double>().rowwise().squaredNorm();
  beta_ = z_.template cast<double>().rowwise().squaredNorm();
  largest_ = std::pow(std::sqrt(alpha_.maxCoeff()) + std::sqrt(beta_.maxCoeff()), 2);
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
  if (stored()) return matrix_.col(j).template cast<double>();
  return (x_.rowwise() - z_.row(j)).rowwise().squaredNorm().template cast<double>();
}

template <class T>
double Costs<T>::between(const Vector& a, const Vector& b) const {
  if (stored()) {
    double sum = 0;
    for (Index i = 0; i < matrix_.rows(); ++i)
      sum += a[i] * matrix_.row(i).template cast<double>().dot(b);
    return sum;
  }
  const Vector left = x_.transpose().template cast<double>() * a;
  const Vector right = z_.transpose().template cast<double>() * b;
  return a.dot(alpha_) * b.sum() + b.dot(beta_) * a.sum() - 2 * left.dot(right);
}

template class Costs<double>;
template class Costs<float>;

}  // namespace remblai
