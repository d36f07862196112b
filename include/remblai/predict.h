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

/// How labels are made. automatic: by the head of a class-aware model, else by nearest neighbours.
enum class Rule { automatic, head, nearest, propagate };
constexpr std::array<std::string_view, 4> names(Rule) {
  return {"auto", "head", "nearest", "propagate"};
}

enum class KnnMetric { model, euclidean };
constexpr std::array<std::string_view, 2> names(KnnMetric) {
  return {"model", "euclidean"};
}

/// How labels are found. The rule belongs to a prediction and not to the model, so one model can
/// answer with any.
struct REMBLAI_API PredictOptions {
  Rule rule = Rule::automatic;
  int neighbours = 1;
  KnnMetric knn_metric = KnnMetric::model;

  /// Throws Error naming the option, its value and the range.
  void validate() const;

  /// Checks the same, and that there are at least as many labelled points as neighbours.
  void validate(Index labelled) const;
};

/// Calls visit(name, field, help) for every option, as for_each_option of Options does.
template <class OptionsType, class Visitor>
requires std::same_as<std::remove_const_t<OptionsType>, PredictOptions>
void for_each_option(OptionsType& o, Visitor&& visit) {
  visit("rule", o.rule,
        "head: the classifier of a class-aware fit; nearest: neighbours among the mapped source "
        "points; propagate: through the plan; auto: head where the model has one, else nearest");
  visit("neighbours", o.neighbours, "k of the nearest-neighbour rule");
  visit("knn-metric", o.knn_metric, "metric of the nearest-neighbour rule");
}

/// The rule that is meant for this model: never automatic. Throws Error when the model cannot
/// answer by it.
REMBLAI_API Rule rule_for(const Model& model, Rule rule);

/// The label of each point. head: the most probable class. nearest: by its k nearest neighbours
/// among the mapped source points of positive weight; the majority wins, and among labels with
/// equally many votes the one of the nearest voter. propagate: the class that sends it most mass.
/// Throws Error when the model has no labels, no head, or fewer labelled points than neighbours.
REMBLAI_API Labels predict(const Model& model, const MatrixView& points,
                           const PredictOptions& options = {});

/// The share of each class for each point. Rows sum to 1, and columns follow `classes`.
struct ClassShares {
  Labels classes;  ///< ascending
  Matrix shares;   ///< points x classes
};

/// The probability of each class for each point: calibrated ones of the head, shares of the votes
/// of the neighbours, or of the mass that the plan sends.
REMBLAI_API ClassShares probabilities(const Model& model, const MatrixView& points,
                                      const PredictOptions& options = {});

/// Answers as `predict` and `probabilities` do, for several sets of points. The source points are
/// mapped once. It keeps a reference to the model.
class REMBLAI_API Predictor {
 public:
  explicit Predictor(const Model& model, const PredictOptions& options = {});
  Labels operator()(const MatrixView& points) const;
  Labels of_targets() const;  ///< of the target points of the model
  ClassShares probabilities(const MatrixView& points) const;

 private:
  Matrix seen(const Matrix& points) const;  // through the metric of the neighbour rule
  Labels labels_of(const Matrix& preprocessed) const;
  Labels labels_by_head(const Matrix& embedded) const;
  ClassShares votes(const MatrixView& points) const;

  const Model& model_;
  PredictOptions options_;  // the rule is the one meant
  Matrix mapped_;
  Labels labels_;
};

/// The neighbour rule of `predict` between any labelled and unlabelled points, with Euclidean
/// distances. Throws Error when there are fewer labelled points than neighbours.
REMBLAI_API Labels nearest_labels(const Matrix& labelled, const Labels& labels,
                                  const Matrix& points, int neighbours = 1);

/// The same rule from distances, with one row for each point and one column for each labelled
/// point. A constant that is added to a whole row does not matter.
REMBLAI_API Labels nearest_labels_by_distance(const Matrix& distances, const Labels& labels,
                                              int neighbours = 1);

/// Label propagation: the share of each class in the mass that the plan sends to a target point.
/// For points that were not fitted the plan is extended as in `map_back`. All ranks of a model that
/// several have call it, with the same points.
REMBLAI_API ClassShares propagate(const Model& model, const MatrixView& points);

/// The class with the largest share for each point. The smaller label wins a tie.
REMBLAI_API Labels most_likely(const ClassShares& shares);

/// The distances |a_i - b_j|_A in the metric of the model, between rows in the caller's
/// coordinates: a of the source domain, b of the target, which matters where each was preprocessed
/// by itself.
REMBLAI_API Matrix distances(const Model& model, const MatrixView& a, const MatrixView& b);

}  // namespace remblai
