// What a class-aware fit knows of the classes: shares, moves, and the classifiers it answers with.
#pragma once

#include <limits>

#include "remblai/api.h"
#include "remblai/types.h"

namespace remblai {

/// Scores and probabilities of K classes for embedded points (see Metric::embed): kernel ridge
/// regression with a Gaussian kernel, or distances to class means.
struct REMBLAI_API Classifier {
  double width = 0;        ///< w of the kernel exp(-|u - v|^2 / w); 0: class means
  double scale = 1;        ///< class means: the score is -|u - mean|^2 / scale
  Matrix points;           ///< those the kernel is centred at, or the K class means
  Matrix coefficients;     ///< one row a point, one column a class; empty for class means
  double temperature = 1;  ///< of the calibration: softmax(temperature scores + biases)
  Vector biases;           ///< K
  /// Landmarks stand for all points: the mean share of the kernel's diagonal that they miss, in
  /// [0, 1]. 0 where the system was solved exactly.
  double missed = 0;

  Index class_count() const { return biases.size(); }

  /// Points x K. In blocks of bounded memory; O(points x support x rank).
  Matrix scores(const Matrix& embedded) const;

  /// The same from the squared distances to `points`, which are at hand.
  Matrix scores_at(Matrix squared_distances) const;

  /// temperature scores + biases. The label of a point is the class where they are largest: they
  /// tell far points apart where the probabilities are equal to the last digit.
  Matrix calibrated(const Matrix& scores) const;

  /// The calibrated probabilities for these scores; rows sum to 1.
  Matrix probabilities(const Matrix& scores) const;
};

/// The classes of a class-aware model, in preprocessed coordinates. Vectors and rows follow
/// `classes`.
struct REMBLAI_API ClassModel {
  Labels classes;        ///< of the source points of positive weight, ascending
  Vector source_shares;  ///< by the weights of the source
  Vector shares;         ///< of the target, estimated or given

  /// In [0, 1]: the smallest of the first leave-one-out accuracy on the source and every round
  /// trip, in which a classifier trained on the guessed target labels labels the source points.
  double reliability = 0;
  /// Leave-one-out accuracy of the first classifier on the source, where a class has other points.
  /// 1 where no class has: the reliability is then that of the round trips alone.
  double left_out = 0;
  bool translated = false;  ///< the source was first moved onto the mean of the target
  bool cautious = true;     ///< shares were held near those of the source
  /// How far the source is from the target under each explanation, cautious and bold without a
  /// translation, then with one (squared maximum mean discrepancies); NaN where it was not tried.
  Vector discrepancies;

  /// Where the data cannot tell whether the target was translated: the share of its points whose
  /// first guess would be another class under the other explanation. 0 where they can tell, where
  /// nothing was compared, and in models of versions that did not keep it.
  double undecided = 0;

  /// 1/m + 1/n, m and n being effective numbers of points: about what the discrepancy of two
  /// samples of one distribution is. 0 in models of versions that did not keep it.
  double margin = 0;
  bool estimated = true;  ///< `shares` were estimated, and not given

  /// Weight t of the geodesic that the metric was made with: that of the options, or half of it.
  /// NaN for a metric that was not learned, and in models of versions that did not keep it.
  double geodesic = std::numeric_limits<double>::quiet_NaN();

  double common_trust = 0;  ///< t0 in [0, 1]: how much of the common move is kept
  Vector trust;             ///< t_k in [0, 1]: how much of each class's own move is kept
  /// How far each class was moved, the translation included, in units of the spread within classes:
  /// the root mean square distance of source points to their class mean. 0 where there is no
  /// spread, and so no unit.
  Vector move_lengths;

  Matrix plan_moves;  ///< what was added to the source points of a class for the last plan, K x d
  Matrix moves;       ///< the same for the head, after the last plan
  double class_cost = 0;  ///< weight of -ln(opinion) in the cost of the plan, in units of the cost
  Matrix opinions;        ///< what the plan was told of each target point: n x K, rows sum to 1

  /// The labels of target points that the fit was given, n of them, or empty. They are not scored.
  Labels known;

  Classifier opinion;  ///< gives opinions on new target points; shares not yet applied
  Classifier head;     ///< gives labels
};

}  // namespace remblai
