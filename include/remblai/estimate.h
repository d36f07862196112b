// What a fit will take, before it begins.
#pragma once

#include <string>

#include "remblai/api.h"
#include "remblai/domain.h"
#include "remblai/options.h"

namespace remblai {

/// Seconds are guesses within a factor of a few: how many passes a plan needs shows only on the
/// way. Bytes are nearly right.
struct Estimate {
  double memory = 0;        ///< bytes at the peak, the points included
  double available = 0;     ///< bytes that are free now
  bool stored = false;      ///< the matrix of all pairs is kept; else made anew in every pass
  double pass_seconds = 0;  ///< of one pass over all pairs, from a small part that was timed
  int passes = 0;           ///< taken for one plan
  double step_seconds = 0;  ///< of one outer step
  int steps = 0;            ///< outer steps, at most
  double seconds() const { return step_seconds * steps; }
  std::string faster;  ///< the three options that would shorten it most, named as in a Message
};

/// Times a small part of the problem, which takes a fraction of a second, and reckons the rest from
/// the sizes. Throws Error on input that cannot be used.
REMBLAI_API Estimate estimate(const Problem& problem, const Options& options);

/// Throws Error when the fit needs more memory than there is, with the three things that would help
/// most. Nothing is timed.
REMBLAI_API void require_reach(const Problem& problem, const Options& options);

}  // namespace remblai
