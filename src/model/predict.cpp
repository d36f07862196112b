// Labels for target points.
#include "remblai/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/linalg.h"
#include "model/class_places.h"
#include "model/class_terms.h"
#include "model/coupling.h"
#include "remblai/comm.h"
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
  if (points.rows() == 0) return;
  const GroundCost cost = GroundCost::to_anchors(points, labelled);
  const Index block = std::max<Index>(1, 4'000'000 / labelled.rows());
  for (Index first = 0; first < points.rows(); first += block)
    visit(first, cost.relative_block(first, std::min(block, points.rows() - first)));
}

// Points at a time whose candidates cross between ranks.
constexpr Index points_at_once = 65536;

// Squared distances from differences: the same wherever the two points stand.
double squared_distance(const Matrix& a, Index i, const Matrix& b, Index j) {
  double sum = 0;
  for (Index k = 0; k < a.cols(); ++k) {
    const double difference = a(i, k) - b(j, k);
    sum += difference * difference;
  }
  return sum;
}

// The neighbour rule where each rank has some of the labelled points: each finds its nearest ones,
// and all ranks choose among those of all. A few more than asked for are looked at, so that
// products of matrices, which round by their size, decide nothing.
Labels nearest_among_ranks(const Comm& comm, const Matrix& labelled, const Labels& labels,
                           const Matrix& points, int neighbours) {
  const Index kept = std::min<Index>(neighbours, labelled.rows());
  const auto looked = static_cast<int>(std::min<Index>(neighbours + 8, labelled.rows()));
  const Vector all_kept = comm.gather(Vector::Constant(1, static_cast<double>(kept)),
                                      std::vector<Index>(static_cast<std::size_t>(comm.size()), 1));
  Labels predicted(points.rows());
  for (Index begin = 0; begin < points.rows(); begin += points_at_once) {
    const Index count = std::min(points_at_once, points.rows() - begin);
    const Matrix some = points.middleRows(begin, count);
    Matrix found(count, 2 * kept);  // distances, then labels
    const auto keep = [&](Index i, std::vector<Index> nearest) {
      std::vector<std::pair<double, Index>> order;
      for (const Index j : nearest) order.emplace_back(squared_distance(some, i, labelled, j), j);
      std::sort(order.begin(), order.end());
      for (Index k = 0; k < kept; ++k) {
        found(i, k) = order[static_cast<std::size_t>(k)].first;
        found(i, kept + k) = static_cast<double>(labels[order[static_cast<std::size_t>(k)].second]);
      }
    };
    if (kept > 0)
      visit_distances(labelled, labels, some, [&](Index first, const Matrix& distances) {
        visit_nearest(distances, looked, [&](Index i, const std::vector<Index>& nearest) {
          keep(first + i, nearest);
        });
      });
    std::vector<Index> sizes;
    for (const double of_rank : all_kept) sizes.push_back(2 * static_cast<Index>(of_rank) * count);
    const Vector all = comm.gather(Eigen::Map<const Vector>(found.data(), found.size()), sizes);
    for (Index i = 0; i < count; ++i) {
      std::vector<std::pair<double, std::int64_t>> order;  // of equal distances the first rank's
      Index place = 0;
      for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
        const auto width = static_cast<Index>(all_kept[static_cast<Index>(rank)]);
        const double* row = all.data() + place + 2 * width * i;
        for (Index k = 0; k < width; ++k)
          order.emplace_back(row[k], static_cast<std::int64_t>(row[width + k]));
        place += sizes[rank];
      }
      std::stable_sort(order.begin(), order.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      std::vector<std::int64_t> voters;
      for (std::size_t k = 0; k < static_cast<std::size_t>(neighbours); ++k)
        voters.push_back(order[k].second);
      predicted[begin + i] = vote(voters);
    }
  }
  return predicted;
}

// The labels that there are on any rank, ascending.
Labels labels_of_ranks(const Comm& comm, const Labels& local) {
  const Vector own = local.size() > 0 ? Vector(ClassPlaces(local).names.cast<double>()) : Vector();
  std::vector<Index> sizes(static_cast<std::size_t>(comm.size()), 1);
  const Vector counts = comm.gather(Vector::Constant(1, static_cast<double>(own.size())), sizes);
  for (std::size_t rank = 0; rank < sizes.size(); ++rank)
    sizes[rank] = static_cast<Index>(counts[static_cast<Index>(rank)]);
  return ClassPlaces(comm.gather(own, sizes).cast<std::int64_t>()).names;
}

// The indicator of each class on the points that have it.
Matrix members_of(const Labels& labels, const Labels& classes) {
  Matrix members = Matrix::Zero(labels.size(), classes.size());
  for (Index i = 0; i < labels.size(); ++i)
    members(i, ClassPlaces::place_in(classes, labels[i])) = 1;
  return members;
}

// What the plan sends to each point by class, where each rank has some of the source points: the
// sums of all ranks under the largest exponent that any has.
ClassShares shares_among_ranks(const Comm& comm, const Model& model, const Matrix& points) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const Labels& labels = model.source.labels;
  const bool some = (model.f.array() > none).any();
  agree(&comm, [&] {
    if (some) require_labels(model);
  });
  ClassShares out{labels_of_ranks(comm, labels), {}};
  const Matrix members = members_of(labels, out.classes);
  const Index classes = out.classes.size();
  out.shares.resize(points.rows(), classes);
  for (Index begin = 0; begin < points.rows(); begin += points_at_once) {
    const Index count = std::min(points_at_once, points.rows() - begin);
    Matrix sums = Matrix::Zero(count, classes);
    Vector tops = Vector::Constant(count, none);
    if (some)
      coupling_of(model)->visit_part(Direction::backward, points.middleRows(begin, count),
                                     [&](Index first, const Matrix& rows, const Vector& exponents) {
                                       sums.middleRows(first, rows.rows()) =
                                           linalg::multiply(rows, members);
                                       tops.segment(first, rows.rows()) = exponents;
                                     });
    const Vector top = comm.maximum(tops);
    sums = (tops - top).unaryExpr([](double x) { return std::exp2(x); }).asDiagonal() * sums;
    const Vector all =
        comm.gather(Eigen::Map<const Vector>(sums.data(), sums.size()),
                    std::vector<Index>(static_cast<std::size_t>(comm.size()), sums.size()));
    sums.setZero();
    for (Index rank = 0; rank < comm.size(); ++rank)
      sums += Eigen::Map<const Matrix>(all.data() + rank * sums.size(), count, classes);
    out.shares.middleRows(begin, count) = sums.rowwise().sum().cwiseInverse().asDiagonal() * sums;
  }
  return out;
}

// Label propagation to preprocessed points.
ClassShares shares_through_plan(const Model& model, const Matrix& points) {
  const Comm* comm = model.options.resources.comm.get();
  if (comm && comm->size() > 1) return shares_among_ranks(*comm, model, points);
  require_labels(model);
  ClassShares out{ClassPlaces(model.source.labels).names, {}};
  const Matrix members = members_of(model.source.labels, out.classes);
  out.shares.resize(points.rows(), out.classes.size());
  coupling_of(model)->visit_new(
      Direction::backward, points, [&](Index first, const Matrix& weights) {
        out.shares.middleRows(first, weights.rows()) = linalg::multiply(weights, members);
      });
  return out;
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
  const Comm* comm = model.options.resources.comm.get();
  agree(comm, [&] {
    // A rank without points has no labels either.
    if (!comm || model.source.size() > 0)
      options_.rule = rule_for(model, options.rule);
    else if (options.rule == Rule::automatic)
      options_.rule = model.classes ? Rule::head : Rule::nearest;
  });
  if (options_.rule != Rule::nearest) return;
  const DenseWork scope = dense_work_of(model);
  const std::unique_ptr<Coupling> coupling = coupling_of(model);
  const std::vector<Index> rows = positive_entries(coupling->masses(Direction::forward));
  const auto voters = static_cast<double>(rows.size());
  options.validate(static_cast<Index>(
      comm ? comm->gather(Vector::Constant(1, voters),
                          std::vector<Index>(static_cast<std::size_t>(comm->size()), 1))
                 .sum()
           : voters));
  mapped_ = seen(coupling->own_barycentres(Direction::forward, rows));
  labels_ = model.source.labels(rows);
}

Matrix Predictor::seen(const Matrix& points) const {
  return options_.knn_metric == KnnMetric::euclidean ? points : model_.metric.embed(points);
}

Labels Predictor::operator()(const MatrixView& points) const {
  const DenseWork scope = dense_work_of(model_);
  require_finite(points, "points");
  return labels_of(model_.scaler.apply(points));
}

Labels Predictor::of_targets() const {
  if (options_.rule != Rule::head) return labels_of(model_.target.points);
  const DenseWork scope = dense_work_of(model_);
  std::vector<Index> all(static_cast<std::size_t>(model_.target.size()));
  std::iota(all.begin(), all.end(), 0);
  return labels_by_head(embedded_targets(model_, all));
}

Labels Predictor::labels_by_head(const Matrix& embedded) const {
  const Classifier& head = model_.classes->head;
  return most_likely({model_.classes->classes, head.calibrated(head.scores(embedded))});
}

Labels Predictor::labels_of(const Matrix& points) const {
  const DenseWork scope = dense_work_of(model_);
  if (options_.rule == Rule::propagate) return most_likely(shares_through_plan(model_, points));
  if (options_.rule == Rule::head) return labels_by_head(model_.metric.embed(points));
  const Matrix embedded = seen(points);
  if (const Comm* comm = model_.options.resources.comm.get())
    return nearest_among_ranks(*comm, mapped_, labels_, embedded, options_.neighbours);
  return nearest_labels(mapped_, labels_, embedded, options_.neighbours);
}

ClassShares Predictor::probabilities(const MatrixView& points) const {
  if (options_.rule == Rule::nearest) return votes(points);
  if (options_.rule == Rule::propagate) return propagate(model_, points);
  const DenseWork scope = dense_work_of(model_);
  require_finite(points, "points");
  const Classifier& head = model_.classes->head;
  const Matrix embedded = model_.metric.embed(model_.scaler.apply(points));
  return {model_.classes->classes, head.probabilities(head.scores(embedded))};
}

ClassShares Predictor::votes(const MatrixView& points) const {
  if (model_.options.resources.comm)
    throw Error({.field = "comm",
                 .problem = "shares of votes are counted in one process",
                 .remedy = "use the model that gathered() gives"});
  const DenseWork scope = dense_work_of(model_);
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
  const DenseWork scope = dense_work_of(model);
  require_finite(points, "points");
  return shares_through_plan(model, model.scaler.apply(points));
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
  const DenseWork scope = dense_work_of(model);
  require_finite(a, "points");
  require_finite(b, "points");
  return model.metric.distances(model.scaler.apply(a, Role::source),
                                model.scaler.apply(b, Role::target));
}

}  // namespace remblai
