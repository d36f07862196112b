// Labels for target points, and what is measured with them.
#include "remblai/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "conditional.h"
#include "linalg.h"
#include "pairs.h"
#include "remblai/error.h"

namespace remblai {
namespace {

void require_labels(const Model& model) {
  if (!model.source.labelled())
    throw Error(
        "model: it was fitted without source labels, so it cannot predict; fit it again with "
        "labels for the source points (--source-labels)");
}

// The majority among the voters, nearest first; of equal counts the label met first.
std::int64_t vote(const std::vector<std::int64_t>& voters) {
  std::map<std::int64_t, int> votes;
  int most = 0;
  for (const std::int64_t label : voters) most = std::max(most, ++votes[label]);
  return *std::find_if(voters.begin(), voters.end(),
                       [&](std::int64_t label) { return votes[label] == most; });
}

}  // namespace

Labels nearest_labels(const Matrix& labelled, const Labels& labels, const Matrix& points,
                      int neighbours) {
  if (labelled.rows() == 0 || labels.size() != labelled.rows() || labelled.cols() != points.cols())
    throw Error(
        fmt::format("labelled points: {} x {} with {} labels, against points of {} coordinates; "
                    "the sizes must agree",
                    labelled.rows(), labelled.cols(), labels.size(), points.cols()));
  require_finite(labelled, "labelled points");
  require_finite(points, "points");
  Labels predicted(points.rows());
  const Index block = std::max<Index>(1, 4'000'000 / labelled.rows());
  // Measured from the middle of the labelled points, so that no digits are lost far from zero.
  const Eigen::RowVectorXd centre =
      Eigen::RowVectorXd::Constant(labelled.rows(), 1.0 / static_cast<double>(labelled.rows())) *
      labelled;
  const Matrix centred = labelled.rowwise() - centre;
  Matrix distances;
  for (Index first = 0; first < points.rows(); first += block) {
    const Index count = std::min(block, points.rows() - first);
    squared_distances(points.middleRows(first, count).rowwise() - centre, centred, distances);
    predicted.segment(first, count) = nearest_labels_by_distance(distances, labels, neighbours);
  }
  return predicted;
}

Labels nearest_labels_by_distance(const Matrix& distances, const Labels& labels, int neighbours) {
  if (neighbours < 1) throw Error(fmt::format("neighbours: {} is less than 1", neighbours));
  if (labels.size() == 0 || labels.size() != distances.cols())
    throw Error(
        fmt::format("distances: to {} labelled points, with {} labels; give one label a "
                    "point",
                    distances.cols(), labels.size()));
  const Index k = std::min<Index>(neighbours, distances.cols());
  Labels predicted(distances.rows());
  std::vector<Index> nearest;  // at most k places, nearest first
  std::vector<std::int64_t> voters(static_cast<std::size_t>(k));
  for (Index i = 0; i < distances.rows(); ++i) {
    const double* row = distances.row(i).data();
    nearest.clear();
    for (Index j = 0; j < distances.cols(); ++j) {
      const bool full = static_cast<Index>(nearest.size()) == k;
      if (full && row[j] >= row[nearest.back()]) continue;
      if (full) nearest.pop_back();
      nearest.insert(std::upper_bound(nearest.begin(), nearest.end(), j,
                                      [&](Index a, Index b) { return row[a] < row[b]; }),
                     j);
    }
    std::transform(nearest.begin(), nearest.end(), voters.begin(),
                   [&](Index voter) { return labels[voter]; });
    predicted[i] = vote(voters);
  }
  return predicted;
}

Predictor::Predictor(const Model& model) : model_(model) {
  require_labels(model);
  const std::vector<Index> rows = positive_entries(model.source.weights);
  mapped_ = seen(source_barycentres(model)(rows, Eigen::all));
  labels_ = model.source.labels(rows);
}

Matrix Predictor::seen(const Matrix& points) const {
  return model_.options.knn_metric == KnnMetric::euclidean ? points : model_.metric.embed(points);
}

Labels Predictor::operator()(const MatrixView& points) const {
  require_finite(points, "points");
  return nearest_labels(mapped_, labels_, seen(model_.scaler.apply(points)),
                        model_.options.neighbours);
}

Labels predict(const Model& model, const MatrixView& points) {
  return Predictor(model)(points);
}

ClassShares propagate(const Model& model, const MatrixView& points) {
  require_labels(model);
  require_finite(points, "points");
  const std::set<std::int64_t> classes(model.source.labels.begin(), model.source.labels.end());
  ClassShares out;
  out.classes.resize(static_cast<Index>(classes.size()));
  std::copy(classes.begin(), classes.end(), out.classes.begin());
  Matrix members = Matrix::Zero(model.source.size(), out.classes.size());
  for (Index i = 0; i < members.rows(); ++i) {
    const auto place =
        std::lower_bound(out.classes.begin(), out.classes.end(), model.source.labels[i]);
    members(i, place - out.classes.begin()) = 1;
  }
  out.shares.resize(points.rows(), out.classes.size());
  visit_conditionals(model, Direction::backward, model.scaler.apply(points),
                     [&](Index first, const Matrix& weights) {
                       out.shares.middleRows(first, weights.rows()) =
                           linalg::multiply(weights, members);
                     });
  return out;
}

Labels most_likely(const ClassShares& shares) {
  Labels labels(shares.shares.rows());
  for (Index i = 0; i < labels.size(); ++i) {
    Index best = 0;
    shares.shares.row(i).maxCoeff(&best);
    labels[i] = shares.classes[best];
  }
  return labels;
}

Matrix distances(const Model& model, const MatrixView& a, const MatrixView& b) {
  require_finite(a, "points");
  require_finite(b, "points");
  return model.metric.distances(model.scaler.apply(a), model.scaler.apply(b));
}

double accuracy(const Labels& predicted, const Labels& truth) {
  if (predicted.size() != truth.size() || truth.size() == 0)
    throw Error(
        fmt::format("labels: {} predicted and {} true labels; give two lists of the same length",
                    predicted.size(), truth.size()));
  return (predicted.array() == truth.array()).cast<double>().mean();
}

}  // namespace remblai
