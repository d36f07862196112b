// The classes of a problem: which source point has which, and what is known of the target.
#pragma once

#include <vector>

#include "fit/space.h"

namespace remblai {

/// Source points of one label are one class. Classes are numbered in ascending order of their
/// labels: a point's number is its place.
struct ClassProblem {
  Labels classes;             ///< the labels, ascending
  std::vector<Index> places;  ///< of the source points of the space
  Vector p, q;                ///< weights of the source and target points of the space
  Shard shard;                ///< of the source points
  Matrix members;             ///< m x K: 1 where a source point is of a class
  Vector shares;              ///< of the source, by weight
  Vector counts;              ///< points of each class; fewer where weights differ (effective size)
  double source_count = 0;    ///< the same for all source points
  double target_count = 0;    ///< and all target points
  std::vector<Index> known;   ///< target points of the space whose label may be used
  std::vector<Index> known_places;

  Index class_count() const { return classes.size(); }

  /// Means of each class over rows that belong to the source points.
  Matrix class_means(const Matrix& rows) const;

  /// Such rows around the means of their classes.
  Matrix within(const Matrix& rows) const { return rows - members * class_means(rows); }
};

/// Labels belong to all points of the two domains, those of weight 0 included; `known` may be
/// empty. Throws Error where there are no source labels, or a known label is none of them.
ClassProblem make_class_problem(const Space& space, const Labels& source_labels,
                                const Labels& known_labels);

}  // namespace remblai
