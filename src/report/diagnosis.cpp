// Thresholds between kinds of shift, and sentences on them.
#include "remblai/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace remblai {
namespace {

// On digits whose shares alone changed classes moved by less than 0.1 of their spread, between
// kinds of photos by 0.17 or more. Shares that did not change were found to change by less than
// 0.03.
constexpr double noticeable_move = 0.15;
constexpr double noticeable_change = 0.05;
constexpr double enough_reliability = 0.8;

// Where classes have many points hardly any guess is another one under the other explanation.
constexpr double few_undecided = 0.1;

}  // namespace

Diagnosis diagnose(const ClassModel& classes) {
  Diagnosis d;
  d.shares_change = 0.5 * (classes.shares - classes.source_shares).lpNorm<1>();
  d.move = classes.shares.dot(classes.move_lengths);
  const bool shares = d.shares_change >= noticeable_change;
  const bool position = d.move >= noticeable_move;
  d.shift = shares ? (position ? Shift::both : Shift::shares)
                   : (position ? Shift::position : Shift::none);
  const std::string changed =
      fmt::format("class shares differ by {:.0f} % of the points", 100 * d.shares_change);
  const std::string moved =
      fmt::format("classes moved by {:.2f} of their spread on average", d.move);
  switch (d.shift) {
    case Shift::none:
      d.shift_words = "none to speak of: class shares and places are nearly those of the source";
      break;
    case Shift::shares:
      d.shift_words = "in the class shares: " + changed + ", and classes stay where they are";
      break;
    case Shift::position:
      d.shift_words = "in the position: " + moved + ", and class shares are nearly the same";
      break;
    case Shift::both:
      d.shift_words = "in both: " + changed + ", and " + moved;
      break;
  }
  d.trust_words =
      fmt::format("{:.2f}: so many source labels come back right through the guessed target labels",
                  classes.reliability);
  const bool unreliable = classes.reliability < enough_reliability;
  d.doubtful = unreliable || classes.undecided >= few_undecided;
  if (!d.doubtful) return d;
  if (!unreliable) {
    d.doubt = fmt::format(
        "The data cannot tell whether the target as a whole lies elsewhere than the source or its "
        "classes have other shares, and for {:.0f} % of its points the first guess depends on it.",
        100 * classes.undecided);
    d.advice =
        "Give $translation yes or no where you know which it is, and compare the two where you do "
        "not; or give more points, or the labels of a few target points ($known-labels).";
    return d;
  }
  d.doubt = fmt::format("The reliability is {:.3f}, below {:.1f}: labels may be poor, for {}.",
                        classes.reliability, enough_reliability,
                        classes.left_out < enough_reliability
                            ? "the classifier is not sure even of the source"
                            : "source and target do not agree on the classes, or some classes are "
                              "rare in the target");
  d.advice =
      "Give better features, more source points, or the labels of a few target points "
      "($known-labels).";
  return d;
}

std::vector<ClassRow> class_rows(const ClassModel& classes, std::size_t most) {
  std::vector<ClassRow> rows;
  for (Index k = 0; k < classes.classes.size(); ++k)
    rows.push_back({classes.classes[k], classes.source_shares[k], classes.shares[k],
                    classes.move_lengths[k], classes.trust[k]});
  if (rows.size() <= most) return rows;
  std::stable_sort(rows.begin(), rows.end(), [](const ClassRow& a, const ClassRow& b) {
    return std::abs(a.target_share - a.source_share) > std::abs(b.target_share - b.source_share);
  });
  rows.resize(most);
  return rows;
}

}  // namespace remblai
