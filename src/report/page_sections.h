// The sections of the page of a model, each from the numbers of page_data.h.
#pragma once

#include <optional>
#include <string>

#include "report/page_data.h"
#include "report/page_shell.h"

namespace remblai {

/// From the values of pixels to grey.
struct Shades {
  double low = 0;
  double span = 1;
  bool ink = false;  ///< strokes on an empty ground, not photographs
};
Shades shades_of(const Model& model);

/// What the sections share.
struct PageContext {
  const Model& model;
  Report report;
  const PageOptions& options;
  Known known;
  ImageSize image;                     ///< 0 x 0: the points are not shown as images
  Shades shades;                       ///< of those images
  std::optional<Score> baseline = {};  ///< on the target without adaptation

  bool predicted() const { return known.truth.size() == 0 && known.guesses.size() > 0; }
  /// True or predicted; empty when neither is there.
  const Labels& target_labels() const { return predicted() ? known.guesses : known.truth; }
  bool images() const { return image.rows > 0; }
  std::string feature(Index k) const;  ///< its name
  std::string label(std::int64_t value) const;
  Json names(const Classes& classes) const;  ///< of the classes, and of the rest
};

Json accuracy_section(const PageContext& context);
Json classes_section(const PageContext& context);  ///< of a class-aware model; null otherwise
Json convergence_section(const PageContext& context);
Json metric_section(const PageContext& context);
Json mass_section(const PageContext& context, const PlanView& view);
Json map_section(const PageContext& context);
Json pairs_section(const PageContext& context, const PlanView& view);

/// Rows of `points` (preprocessed) as pictures in one sheet: {uri, across, down, width, height,
/// ink}.
Json sheet_of_points(const PageContext& context, const Matrix& points);

/// Rows as pictures of signed numbers: blue above 0, orange below, clear at 0.
Json sheet_of_weights(const PageContext& context, const Matrix& rows);

std::string percent_text(double share);

/// How many points have a positive weight.
Index with_mass(const Domain& domain);

}  // namespace remblai
