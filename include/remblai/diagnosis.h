// What a class-aware fit found out, in words: the kind of shift, class by class, and how far it can
// be trusted. And what to know of any model before believing it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "remblai/api.h"
#include "remblai/class_model.h"
#include "remblai/error.h"
#include "remblai/model.h"

namespace remblai {

enum class Shift { none, shares, position, both };
constexpr std::array<std::string_view, 4> names(Shift) {
  return {"none", "shares", "position", "both"};
}

struct Diagnosis {
  Shift shift = Shift::none;  ///< what is noticeable, and more than chance would explain
  double shares_change = 0;   ///< share of the mass that changed its class, in [0, 1]
  double move = 0;            ///< mean move of the classes, in units of their spread
  /// Reliability below 0.8, an open question that matters, or a large change of shares and places
  /// that leaves the target unexplained.
  bool doubtful = false;
  std::string shift_words;  ///< a sentence
  std::string trust_words;  ///< what the reliability means
  std::string doubt;        ///< what is wrong; empty where nothing is
  std::string advice;       ///< what to do then; names options with a dollar sign
};

REMBLAI_API Diagnosis diagnose(const ClassModel& classes);

/// What to be careful about and what to change, in plain words; names of options have a dollar
/// sign.
struct REMBLAI_API Warning {
  std::string what, fix;

  std::string text(const Spelling& spelling) const;  ///< both, with options as `spelling` has them
};

/// What a diagnosis doubts, and a column of three or more that has more than 95 % of their spread
/// where nothing was done about it: no preprocessing was asked for, and no metric was given.
REMBLAI_API std::vector<Warning> warnings(const Model& model);

/// One row a class: label, share in the source and in the target, how far it moved, how sure that
/// is. At most `most` rows: those whose share changed most.
struct ClassRow {
  std::int64_t label = 0;
  double source_share = 0;
  double target_share = 0;
  double moved = 0;
  double sure = 0;
};
REMBLAI_API std::vector<ClassRow> class_rows(const ClassModel& classes, std::size_t most);

}  // namespace remblai
