// Scores of predicted labels.
#include "remblai/evaluate.h"

#include <fmt/format.h>

#include <limits>

#include "remblai/error.h"

namespace remblai {

double Score::accuracy() const {
  if (!known()) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(correct) / static_cast<double>(scored);
}

std::string Score::percent(int digits) const {
  return known() ? fmt::format("{:.{}f} %", 100 * accuracy(), digits) : "unknown";
}

Score evaluate(const Labels& predicted, const Labels& truth) {
  if (predicted.size() != truth.size() || truth.size() == 0)
    throw Error(
        {.field = "labels",
         .value = fmt::format("{} predicted and {} true labels", predicted.size(), truth.size()),
         .problem = "cannot be compared",
         .remedy = "give two lists of the same length"});
  Score score;
  for (Index i = 0; i < truth.size(); ++i) {
    const bool known = truth[i] != unknown_label;
    score.unknown += !known;
    score.scored += known;
    score.correct += known && predicted[i] == truth[i];
  }
  return score;
}

}  // namespace remblai
