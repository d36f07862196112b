// The problem that the caller brings: two clouds of points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "remblai/api.h"
#include "remblai/types.h"

namespace remblai {

/// The label of a target point whose true label is not known. Such a point is never scored.
inline constexpr std::int64_t unknown_label = -1;

/// A cloud of points. Labels and weights may be empty.
struct REMBLAI_API Domain {
  Matrix points;   ///< one point in each row
  Labels labels;   ///< one integer for each point, or empty
  Vector weights;  ///< non-negative with a positive sum, or empty: every point counts the same

  Index size() const { return points.rows(); }
  Index dimension() const { return points.cols(); }
  bool labelled() const { return labels.size() > 0; }

  /// Throws Error unless the domain can be used. It needs at least one point, finite coordinates,
  /// and labels and weights of the right length where there are any. `name` ("source", "target")
  /// opens the message. Of `some` rows of a domain that processes share there may be none, and all
  /// their weights may be zero.
  void validate(std::string_view name, bool some = false) const;

  /// The weights divided by their sum. Weights below 1e-100 of the largest become 0. When none were
  /// given, each is 1/size.
  Vector probabilities() const;
};

/// Two domains of one dimension.
struct Problem {
  Domain source;
  Domain target;
  std::vector<std::string> features = {};  ///< a name for each coordinate, or empty
  /// Labels of target points that may be used to fit, by the class-aware method: one for each
  /// target point, unknown_label where there is none; or empty. Labels of the target domain itself
  /// are never fitted with.
  Labels known_labels = {};
};

/// The indices of the positive entries, ascending.
REMBLAI_API std::vector<Index> positive_entries(const Vector& weights);

/// Throws Error, naming the first row and column that hold NaN or an infinity, unless there is
/// none.
REMBLAI_API void require_finite(const MatrixView& values, std::string_view name);

}  // namespace remblai
