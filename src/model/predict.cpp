// Labels for target points.
#include "remblai/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/linalg.h"
#include "model/class_places.h"
#include "model/coupling.h"
#include "remblai/error.h"
#include "transport/ground_cost.h"

namespace remblai {
namespace {

void require_labels(const Model& model) {
  if (!model.source.labelled())
    throw Error({.field = "model",
                 .problem = "it was fitted without source labels, so it cannot predict",
                 .remedy = "fit it again with labels for the source points ($source-labels)"});
}

// The majority among the voters, nearest first; of equal counts the label met first.
std::int64_t vote(const std::vector<std::int64_t>& voters) {
  std::map<std::int64_t, int> votes;
  int most = 0;
  for (const std::int64_t label : voters) most = std::max(most, ++votes[label]);
  return *std::find_if(voters.begin(), voters.end(),
                       [&](std::int64_t label) { return votes[label] == most; });
}

// The k nearest columns of each row of distances, nearest first; of equal ones the first. The
// caller has checked that there are as many.
template <class Visit>
void visit_nearest(const Matrix& distances, int neighbours, const Visit& visit) {
  const Index k = neighbours;
  std::vector<Index> nearest;
  for (Index i = 0; i < distances.rows(); ++i) {
    const double* row = distances.row(i).data();
    nearest.clear();
    for (Index j = 0; j < distances.cols(); ++j) {
      const bool full = static_cast<Index>(nearest.size()) == k;
      if (full && !(row[j] < row[nearest.back()])) continue;
      if (full) nearest.pop_back();
      nearest.insert(std::upper_bound(nearest.begin(), nearest.end(), j,
                                      [&](Index a, Index b) { return row[a] < row[b]; }),
                     j);
    }
    visit(i, nearest);
  }
}

// Squared distances of points to labelled ones, up to a constant for each point, some rows of them
// at a time: visit(first, distances).
template <class Visit>
void visit_distances(const Matrix& labelled, const Labels& labels, const Matrix& points,
                     const Visit& visit) {
  if (labelled.rows() == 0 || labels.size() != labelled.rows() || labelled.cols() != points.cols())
    throw Error({.field = "labelled points",
                 .value = fmt::format("{} x {} with {} labels", labelled.rows(), labelled.cols(),
                                      labels.size()),
                 .problem = fmt::format("against points of {} coordinates", points.cols()),
                 .remedy = "the sizes must agree"});
  require_finite(labelled, "labelled points");
  require_finite(points, "points");
  const Index block = std::max<Index>(1, 4'000'000 / labelled.rows());
  for (Index first = 0; first < points.rows(); first += block) {
    const Index count = std::min(block, points.rows() - first);
    visit(
        first,
        GroundCost::to_anchors(points.middleRows(first, count), labelled).relative_block(0, count));
  }
}

}  // namespace

void PredictOptions::validate() const {
  if (neighbours < 1)
    throw Error({.field = "neighbours",
                 .value = fmt::format("{}", neighbours),
                 .problem = "is out of range",
                 .remedy = "it must be 1 or more"});
}

void PredictOptions::validate(Index labelled) const {
  validate();
  if (neighbours > labelled)
    throw Error(
        {.field = "neighbours",
         .value = fmt::format("{}", neighbours),
         .problem = fmt::format("is more than the {} labelled points of positive weight", labelled),
         .remedy = fmt::format("give {} at most", labelled)});
}

Labels nearest_labels(const Matrix& labelled, const Labels& labels, const Matrix& points,
                      int neighbours) {
  PredictOptions{.neighbours = neighbours}.validate(labelled.rows());
  Labels predicted(points.rows());
  visit_distances(labelled, labels, points, [&](Index first, const Matrix& distances) {
    predicted.segment(first, distances.rows()) =
        nearest_labels_by_distance(distances, labels, neighbours);
  });
  return predicted;
}

Labels nearest_labels_by_distance(const Matrix& distances, const Labels& labels, int neighbours) {
  if (labels.size() == 0 || labels.size() != distances.cols())
    throw Error({.field = "distances",
                 .value = fmt::format("to {} labelled points", distances.cols()),
                 .problem = fmt::format("with {} labels", labels.size()),
                 .remedy = "give one label a point"});
  PredictOptions{.neighbours = neighbours}.validate(labels.size());
  Labels predicted(distances.rows());
  std::vector<std::int64_t> voters;
  visit_nearest(distances, neighbours, [&](Index i, const std::vector<Index>& nearest) {
    voters.clear();
    for (const Index voter : nearest) voters.push_back(labels[voter]);
    predicted[i] = vote(voters);
  });
  return predicted;
}

Rule rule_for(const Model& model, Rule rule) {
  require_labels(model);
  if (rule == Rule::automatic) return model.classes ? Rule::head : Rule::nearest;
  if (rule == Rule::head && !model.classes)
    throw Error({.field = "rule",
                 .value = "head",
                 .problem = "needs a class-aware model, and this one is not",
                 .remedy = "fit with the $method class-aware, or give another $rule"});
  return rule;
}

Predictor::Predictor(const Model& model, const PredictOptions& options)
    : model_(model), options_(options) {
  options.validate();
  options_.rule = rule_for(model, options.rule);
  if (options_.rule != Rule::nearest) return;
  const linalg::Threads scope = threads_of(model);
  const std::unique_ptr<Coupling> coupling = coupling_of(model);
  const std::vector<Index> rows = positive_entries(coupling->masses(Direction::forward));
  options.validate(static_cast<Index>(rows.size()));
  mapped_ = seen(coupling->own_barycentres(Direction::forward, rows));
  labels_ = model.source.labels(rows);
}

Matrix Predictor::seen(const Matrix& points) const {
  return options_.knn_metric == KnnMetric::euclidean ? points : model_.metric.embed(points);
}

Labels Predictor::operator()(const MatrixView& points) const {
  if (options_.rule == Rule::propagate) return most_likely(propagate(model_, points));
  const linalg::Threads scope = threads_of(model_);
  require_finite(points, "points");
  // Scores tell far points apart where their probabilities are equal to the last digit.
  if (options_.rule == Rule::head)
    return most_likely({model_.classes->classes, model_.classes->head.scores(model_.metric.embed(
                                                     model_.scaler.apply(points)))});
  return nearest_labels(mapped_, labels_, seen(model_.scaler.apply(points)), options_.neighbours);
}

ClassShares Predictor::probabilities(const MatrixView& points) const {
  if (options_.rule == Rule::nearest) return votes(points);
  if (options_.rule == Rule::propagate) return propagate(model_, points);
  const linalg::Threads scope = threads_of(model_);
  require_finite(points, "points");
  const Classifier& head = model_.classes->head;
  const Matrix embedded = model_.metric.embed(model_.scaler.apply(points));
  return {model_.classes->classes, head.probabilities(head.scores(embedded))};
}

ClassShares Predictor::votes(const MatrixView& points) const {
  const linalg::Threads scope = threads_of(model_);
  require_finite(points, "points");
  const ClassPlaces classes(labels_);
  ClassShares out{classes.names, Matrix::Zero(points.rows(), classes.names.size())};
  visit_distances(mapped_, labels_, seen(model_.scaler.apply(points)),
                  [&](Index first, const Matrix& distances) {
                    visit_nearest(distances, options_.neighbours,
                                  [&](Index i, const std::vector<Index>& nearest) {
                                    auto row = out.shares.row(first + i);
                                    for (const Index voter : nearest)
                                      row[classes.places[static_cast<std::size_t>(voter)]] += 1;
                                    row /= static_cast<double>(nearest.size());
                                  });
                  });
  return out;
}

Labels predict(const Model& model, const MatrixView& points, const PredictOptions& options) {
  return Predictor(model, options)(points);
}

ClassShares probabilities(const Model& model, const MatrixView& points,
                          const PredictOptions& options) {
  return Predictor(model, options).probabilities(points);
}

ClassShares propagate(const Model& model, const MatrixView& points) {
  const linalg::Threads scope = threads_of(model);
  require_labels(model);
  require_finite(points, "points");
  const ClassPlaces classes(model.source.labels);
  ClassShares out{classes.names, {}};
  Matrix members = Matrix::Zero(model.source.size(), out.classes.size());
  for (Index i = 0; i < members.rows(); ++i)
    members(i, classes.places[static_cast<std::size_t>(i)]) = 1;
  out.shares.resize(points.rows(), out.classes.size());
  coupling_of(model)->visit_new(
      Direction::backward, model.scaler.apply(points), [&](Index first, const Matrix& weights) {
        out.shares.middleRows(first, weights.rows()) = linalg::multiply(weights, members);
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
  const linalg::Threads scope = threads_of(model);
  require_finite(a, "points");
  require_finite(b, "points");
  return model.metric.distances(model.scaler.apply(a, Role::source),
                                model.scaler.apply(b, Role::target));
}

}  // namespace remblai
