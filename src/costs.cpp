// Rows of the cost matrix, kept or made by a matrix product.
#include "costs.h"

#include <algorithm>
#include <cmath>

#include "linalg.h"
#include "pairs.h"

namespace remblai {

template <class T>
Costs<T>::Costs(const Matrix& matrix)
    : matrix_(matrix.cast<T>()), largest_(matrix.size() ? matrix.maxCoeff() : 0) {}

template <class T>
Costs<T>::Costs(const Matrix& x, const Matrix& z, bool stored) {
  if (stored) {
    Matrix distances;
    squared_distances(x, z, distances);
    largest_ = distances.maxCoeff();
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
  x_squares_ = x_.rowwise().squaredNorm().template cast<double>();
  z_squares_ = z_.rowwise().squaredNorm().template cast<double>();
  largest_ = std::pow(std::sqrt(x_squares_.maxCoeff()) + std::sqrt(z_squares_.maxCoeff()), 2);
}

template <class T>
Index Costs<T>::block() const {
  if (stored()) return rows();
  return std::clamp<Index>(8'000'000 / columns() / 32 * 32, 32, 1024);
}

template <class T>
const T* Costs<T>::rows(Rows rows, int threads, RowMatrix<T>& scratch) const {
  if (stored()) return matrix_.row(rows.begin).data();
  const Index count = rows.end - rows.begin;
  scratch.resize(count, columns());
  linalg::rows_times_transpose(x_, rows.begin, z_, T(-2), scratch);
  const Eigen::Matrix<T, 1, Eigen::Dynamic> squares = z_squares_.transpose().template cast<T>();
  for_pieces(count, threads, [&](Index, Rows part) {
    for (Index i = part.begin; i < part.end; ++i)
      scratch.row(i) =
          ((scratch.row(i) + squares).array() + T(x_squares_[rows.begin + i])).cwiseMax(T(0));
  });
  return scratch.data();
}

template <class T>
Vector Costs<T>::column(Index j) const {
  if (stored()) return matrix_.col(j).template cast<double>();
  return (x_.rowwise() - z_.row(j)).rowwise().squaredNorm().template cast<double>();
}

template <class T>
double Costs<T>::between(const Vector& alpha, const Vector& beta) const {
  if (stored()) {
    double sum = 0;
    for (Index i = 0; i < matrix_.rows(); ++i)
      sum += alpha[i] * matrix_.row(i).template cast<double>().dot(beta);
    return sum;
  }
  const Vector left = x_.transpose().template cast<double>() * alpha;
  const Vector right = z_.transpose().template cast<double>() * beta;
  return alpha.dot(x_squares_) * beta.sum() + beta.dot(z_squares_) * alpha.sum() -
         2 * left.dot(right);
}

template class Costs<double>;
template class Costs<float>;

}  // namespace remblai
