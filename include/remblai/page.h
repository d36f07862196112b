// A model as one page for a browser: everything is inside it, nothing is fetched.
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

/// Points shown as images of rows x cols pixels, row by row.
struct ImageSize {
  Index rows = 0;
  Index cols = 0;
};

struct PageOptions {
  std::string title = "Transport report";
  std::string asked = "";    ///< what was asked, in a sentence; empty: made from the model
  std::string verdict = "";  ///< what came of it, in a sentence; empty: made from the model
  std::vector<ScoreRow> scores = {};  ///< beside those of the Report
  /// True labels of the target points of the model, to show and never to fit with; empty: those of
  /// the model, or predicted ones where it has none. unknown_label (-1) marks a point whose label
  /// is not known: it is shown as such and never scored.
  Labels target_labels = {};
  Labels predicted = {};  ///< labels already predicted for the target points; empty: made here
  std::map<std::int64_t, std::string> class_names = {};  ///< in place of the numbers
  /// Points are shown as images: when they look like square ones, or always with this size.
  bool images = true;
  ImageSize image_size = {};
  Index most_points = 400;  ///< of each cloud in the projection
};

/// The page, HTML in UTF-8. All text from outside is escaped; bytes that are not UTF-8 become the
/// replacement character. Never holds the plan unless lambda is 0: it is passed over in blocks, for
/// about 4000 source points for the masses and pairs, and for all where labels are predicted. Where
/// true labels are known and neither `report` nor `scores` has a score, it is measured here, by the
/// rule of Report::prediction.
/// Throws Error when the labels or the image size do not fit the model.
REMBLAI_API std::string to_html(const Model& model, const Report& report,
                                const PageOptions& options = {});

}  // namespace remblai
