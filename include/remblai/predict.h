// Labels for target points: nearest neighbours among the mapped source points, or through the plan.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>
#include <vector>

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

enum class KnnMetric { model, euclidean };
constexpr std::array<std::string_view, 2> names(KnnMetric) {
  return {"model", "euclidean"};
}

/// How labels are found. It belongs to a prediction, not to the model: one model answers with any.
struct REMBLAI_API PredictOptions {
  int neighbours = 1;
  KnnMetric knn_metric = KnnMetric::model;

  /// Throws Error naming the option, its value and the range.
  void validate() const;

  /// The same, and there must be as many labelled points as neighbours.
  void validate(Index labelled) const;
};

/// Calls visit(name, field, help) for every option, as for_each_option of Options does.
template <class OptionsType, class Visitor>
requires std::same_as<std::remove_const_t<OptionsType>, PredictOptions>
void for_each_option(OptionsType& o, Visitor&& visit) {
  visit("neighbours", o.neighbours, "k of the nearest-neighbour rule");
  visit("knn-metric", o.knn_metric, "metric of the nearest-neighbour rule");
}

/// k-nearest neighbours among the mapped source points of positive weight. The majority wins; among
/// labels with equally many votes the one of the nearest voter. Throws Error when the model has no
/// labels, or fewer labelled points than neighbours.
REMBLAI_API Labels predict(const Model& model, const MatrixView& points,
                           const PredictOptions& options = {});

/// A share of each class for each point. Rows sum to 1; columns follow `classes`.
struct ClassShares {
  Labels classes;  ///< ascending
  Matrix shares;   ///< points x classes
};

/// The same for several sets of points: the source points are mapped once. Keeps a reference to the
/// model.
class REMBLAI_API Predictor {
 public:
  explicit Predictor(const Model& model, const PredictOptions& options = {});
  Labels operator()(const MatrixView& points) const;
  ClassShares votes(
      const MatrixView& points) const;  ///< the share of each class among the neighbours

 private:
  Matrix seen(const Matrix& points) const;  // through the metric of the neighbour rule

  const Model& model_;
  PredictOptions options_;
  Matrix mapped_;
  Labels labels_;
};

/// The same rule between any labelled and unlabelled points, Euclidean. Throws Error when there are
/// fewer labelled points than neighbours.
REMBLAI_API Labels nearest_labels(const Matrix& labelled, const Labels& labels,
                                  const Matrix& points, int neighbours = 1);

/// The same rule from distances: one row a point, one column a labelled point; what is added to a
/// whole row does not matter.
REMBLAI_API Labels nearest_labels_by_distance(const Matrix& distances, const Labels& labels,
                                              int neighbours = 1);

/// Label propagation: the share of each class in the mass that the plan (or its out-of-sample
/// extension) sends to a target point.
REMBLAI_API ClassShares propagate(const Model& model, const MatrixView& points);

/// The class with the largest share; the smaller label wins a tie.
REMBLAI_API Labels most_likely(const ClassShares& shares);

/// Distances |a_i - b_j|_A in the metric of the model, between rows in the caller's coordinates.
REMBLAI_API Matrix distances(const Model& model, const MatrixView& a, const MatrixView& b);

}  // namespace remblai
