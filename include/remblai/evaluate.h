// How many labels are right: the one way in which the library scores predictions.
#pragma once

#include <string>

#include "remblai/api.h"
#include "remblai/domain.h"

namespace remblai {

/// The points whose true label is known, and those of them that were labelled right.
struct REMBLAI_API Score {
  Index scored = 0;
  Index correct = 0;
  Index unknown = 0;  ///< points without a known label; they do not count
  Index given = 0;    ///< points whose label the fit was given; they do not count either

  bool known() const { return scored > 0; }

  /// correct/scored, in [0, 1]; NaN when no label was known.
  double accuracy() const;

  /// "91.3 %" with so many digits after the point, or "unknown" when no label was known.
  std::string percent(int digits = 1) const;
};

/// Whether the labels are -1 and 1 alone, as two classes are often called. -1 is a class then;
/// beside any other label it is unknown_label.
REMBLAI_API bool minus_one_is_class(const Labels& labels);

/// Compares labels one by one. A true label that is unknown_label (-1) is not scored, whatever was
/// predicted, unless -1 is a class of the labels of the `source`. Nor is a point that has a label
/// in `given`: labels that the fit was given (ClassModel::known), or none. Throws Error when the
/// lengths differ or are zero.
REMBLAI_API Score evaluate(const Labels& predicted, const Labels& truth, const Labels& source = {},
                           const Labels& given = {});

}  // namespace remblai
