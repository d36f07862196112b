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

bool minus_one_is_class(const Labels& labels) {
  return (labels.array() == -1 || labels.array() == 1).all() && (labels.array() == -1).any() &&
         (labels.array() == 1).any();
}

Score evaluate(const Labels& predicted, const Labels& truth, const Labels& source,
               const Labels& given) {
  if (predicted.size() != truth.size() || truth.size() == 0)
    throw Error(
        {.field = "labels",
         .value = fmt::format("{} predicted and {} true labels", predicted.size(), truth.size()),
         .problem = "cannot be compared",
         .remedy = "give two lists of the same length"});
  if (given.size() != 0 && given.size() != truth.size())
    throw Error({.field = "labels",
                 .value = fmt::format("{} given and {} true labels", given.size(), truth.size()),
                 .problem = "are not of the same points",
                 .remedy = "give two lists of the same length"});
  const bool all_known = minus_one_is_class(source);
  Score score;
  for (Index i = 0; i < truth.size(); ++i) {
    if (given.size() > 0 && given[i] != unknown_label) {
      ++score.given;
      continue;
    }
    const bool known = all_known || truth[i] != unknown_label;
    score.unknown += !known;
    score.scored += known;
    score.correct += known && predicted[i] == truth[i];
  }
  return score;
}

}  // namespace remblai
