// A model as one page for a browser. Everything is inside the page, and nothing is fetched.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "remblai/api.h"
#include "remblai/model.h"
#include "remblai/report.h"

namespace remblai {

/// One line of the table of accuracies.
struct ScoreRow {
  std::string method;
  Score score;
  std::string note = "";
  bool ours = false;  ///< the model of this page
};

/// The size of an image in pixels. A point holds its pixels row by row.
struct ImageSize {
  Index rows = 0;
  Index cols = 0;
};

/// What a page shows beside what the model and the report say.
struct PageOptions {
  std::string title = "Transport report";
  std::string asked = "";    ///< what was asked, in a sentence; empty: made from the model
  std::string verdict = "";  ///< what came of it, in a sentence; empty: made from the model
  std::vector<ScoreRow> scores = {};  ///< beside those of the Report
  /// True labels of the target points of the model, to show and never to fit with. When empty,
  /// those of the model are shown, or predicted ones where it has none. unknown_label (-1) marks a
  /// point whose label is not known. It is shown as such and never scored.
  Labels target_labels = {};
  Labels predicted = {};  ///< labels already predicted for the target points; empty: made here
  std::map<std::int64_t, std::string> class_names = {};  ///< in place of the numbers
  /// Points are shown as images when they look like square ones. With a size they always are.
  bool images = true;
  ImageSize image_size = {};
  Index most_points = 400;  ///< of each cloud in the projection
};

/// The page, as HTML in UTF-8. All text from outside is escaped, and bytes that are not UTF-8
/// become the replacement character. Throws Error when the labels or the image size do not fit the
/// model.
///
/// The plan is never held as a whole unless lambda is 0. It is passed over in blocks: for about
/// 4000 source points for the masses and pairs, and for all points where labels are predicted.
/// Where true labels are known and neither `report` nor `scores` has a score, it is measured here,
/// by the rule of Report::prediction.
REMBLAI_API std::string to_html(const Model& model, const Report& report,
                                const PageOptions& options = {});

}  // namespace remblai
