// Squared distances from products, and their exponentials.
#include "model/gaussian.h"

#include <numbers>

#include "base/linalg.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "transport/ground_cost.h"

namespace remblai {

Matrix squared_distances(const Matrix& a) {
  const Eigen::RowVectorXd mean = a.colwise().mean();
  Matrix distances = linalg::gram_of_rows(a.rowwise() - mean);
  const Vector squares = distances.diagonal();
  for (Index i = 0; i < a.rows(); ++i) {
    auto row = distances.row(i);
    row = (squares.transpose().array() + squares[i] - 2 * row.array()).max(0.0);
    row[i] = 0;
  }
  return distances;
}

Matrix squared_distances(const Matrix& a, const Matrix& b) {
  return GroundCost::to_anchors(a, b).block(0, a.rows()).cwiseMax(0.0);
}

void gaussian(Matrix& squared, double width) {
  const double scale = -std::numbers::log2e / width;
  const Index pieces = piece_count(squared.rows());
  run_pieces(pieces, linalg::current_threads(), [&](Index k) {
    const Rows rows = piece(squared.rows(), pieces, k);
    for (Index i = rows.begin; i < rows.end; ++i) {
      auto row = squared.row(i);
      row *= scale;
      simd::exp2(row.data(), row.data(), row.size());
    }
  });
}

Matrix upper_gaussian(const MatrixView& squared, double width) {
  const double scale = -std::numbers::log2e / width;
  Matrix kernel(squared.rows(), squared.cols());
  const Index pieces = piece_count(squared.rows());
  run_pieces(pieces, linalg::current_threads(), [&](Index k) {
    const Rows rows = piece(squared.rows(), pieces, k);
    for (Index i = rows.begin; i < rows.end; ++i) {
      auto row = kernel.row(i).tail(kernel.cols() - i);
      row = scale * squared.row(i).tail(kernel.cols() - i);
      simd::exp2(row.data(), row.data(), row.size());
    }
  });
  return kernel;
}

}  // namespace remblai
