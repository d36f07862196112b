// Labels for target points: nearest neighbours among the mapped source points, or through the plan.
#pragma once

#include <vector>

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

/// k-nearest neighbours (Options::neighbours, Options::knn_metric) among the mapped source points
/// of positive weight. The majority wins; among labels with equally many votes the one of the
/// nearest voter. Throws Error when the model has no labels.
REMBLAI_API Labels predict(const Model& model, const MatrixView& points);

/// A share of each class for each point. Rows sum to 1; columns follow `classes`.
struct ClassShares {
  Labels classes;  ///< ascending
  Matrix shares;   ///< points x classes
};

/// The same for several sets of points: the source points are mapped once. Keeps a reference to the
/// model.
class REMBLAI_API Predictor {
 public:
  explicit Predictor(const Model& model);
  Labels operator()(const MatrixView& points) const;
  ClassShares votes(
      const MatrixView& points) const;  ///< the share of each class among the neighbours

 private:
  Matrix seen(const Matrix& points) const;  // through the metric of the neighbour rule

  const Model& model_;
  Matrix mapped_;
  Labels labels_;
};

/// The same rule between any labelled and unlabelled points, Euclidean.
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

/// Share of equal entries, in [0, 1]. Throws Error when the lengths differ or are zero.
REMBLAI_API double accuracy(const Labels& predicted, const Labels& truth);

}  // namespace remblai
