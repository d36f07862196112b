// Scores of a classifier that was fitted, and their calibration.
#include <algorithm>
#include <vector>

#include "base/linalg.h"
#include "model/gaussian.h"
#include "model/softmax.h"
#include "remblai/class_model.h"

namespace remblai {
namespace {

// Distances to class means have no bound; far beyond this all classes are equally unlikely.
constexpr double largest_score = 1e100;

// So many widths from all points on the kernel vanishes, in squared distances. There the nearest
// points decide, by scores that are too small to make one class more probable than another.
constexpr double vanishing = 690;
constexpr double smallest_score = 1e-300;

}  // namespace

Matrix Classifier::scores(const Matrix& embedded) const {
  Matrix all(embedded.rows(), class_count());
  const Index block = std::max<Index>(1, 4'000'000 / std::max<Index>(1, points.rows()));
  for (Index first = 0; first < embedded.rows(); first += block) {
    const Index count = std::min(block, embedded.rows() - first);
    all.middleRows(first, count) =
        scores_at(squared_distances(embedded.middleRows(first, count), points));
  }
  return all;
}

Matrix Classifier::scores_at(Matrix squared_distances) const {
  if (width == 0) return (squared_distances / -scale).cwiseMax(-largest_score);
  std::vector<Index> far;
  for (Index i = 0; i < squared_distances.rows(); ++i) {
    const double nearest = squared_distances.row(i).minCoeff();
    if (!(nearest > vanishing * width)) continue;
    far.push_back(i);
    squared_distances.row(i).array() -= nearest;
  }
  gaussian(squared_distances, width);
  Matrix scores = linalg::multiply(squared_distances, coefficients);
  for (const Index i : far) scores.row(i) *= smallest_score;
  return scores;
}

Matrix Classifier::calibrated(const Matrix& scores) const {
  return (temperature * scores).rowwise() + biases.transpose();
}

Matrix Classifier::probabilities(const Matrix& scores) const {
  Matrix all = calibrated(scores);
  softmax_rows(all);
  return all;
}

}  // namespace remblai
