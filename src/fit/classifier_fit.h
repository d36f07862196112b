// Choice and fit of a classifier: Gaussian kernel ridge of three widths, or class means, whichever
// has the smallest leave-one-out log-loss.
#pragma once

#include <vector>

#include "fit/kernel_ridge.h"
#include "remblai/class_model.h"
#include "remblai/options.h"

namespace remblai {

/// Points with the shares of their classes. The last ones, as many as there are `places`, are
/// labelled: candidates are compared and calibrated on them.
struct LabelledPoints {
  Matrix points;              ///< embedded
  Matrix shares;              ///< one row a point, one column a class; rows sum to 1
  Vector weights;             ///< positive; 1 for a point that counts in full
  std::vector<Index> places;  ///< the class of each labelled point
  Matrix distances =
      {};                ///< squared, among the points, the upper triangle; empty: not yet measured
  CommonRows rows = {};  ///< which points other ranks have too; all that are not are labelled
};

struct FittedClassifier {
  Classifier classifier;
  /// Share of the labelled points that are right when left out, of those whose class has others; 1
  /// where no class has.
  double left_out = 0;
};

/// What biases of the calibration are for: posteriors are to be probabilities under the shares of
/// the source. For labels none are fitted, so that the order of the scores is kept.
enum class Purpose { posteriors, labels };

/// Widths of kernels are in units of `unit`, a squared distance. O(n^3) up to as many points as
/// there are landmarks, see KernelRidge. Where the pulse stops it, the best of the candidates that
/// were tried is taken, of which the class means are the first.
FittedClassifier fit_classifier(LabelledPoints labelled, double unit, Purpose purpose,
                                const ClassOptions& options, const Pulse& pulse = {});

/// 1 where the highest score of a point is at its place, else 0.
Vector right(const Matrix& scores, const std::vector<Index>& places);

/// Labels carried back: a classifier of the same kind and width as `forth`, trained on `points`
/// with these class probabilities, each class counting the same. Not calibrated. `distances` may be
/// empty, as those of LabelledPoints. Where the pulse stops it, it is one of class means.
Classifier fit_backwards(const Classifier& forth, const Matrix& points, Matrix distances,
                         const Matrix& probabilities, const Vector& weights,
                         const ClassOptions& options, const Pulse& pulse = {});

}  // namespace remblai
