// Labels as places in the ascending list of classes.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "remblai/types.h"

namespace remblai {

/// The classes of some labels, ascending, and the place of each label among them.
struct ClassPlaces {
  Labels names;
  std::vector<Index> places;

  explicit ClassPlaces(const Labels& labels) {
    const std::set<std::int64_t> all(labels.begin(), labels.end());
    names.resize(static_cast<Index>(all.size()));
    std::copy(all.begin(), all.end(), names.begin());
    for (const std::int64_t label : labels) places.push_back(place_of(label));
  }

  Index place_of(std::int64_t label) const { return place_in(names, label); }

  /// The place of a label in an ascending list; -1 when it is not there.
  static Index place_in(const Labels& names, std::int64_t label) {
    const auto found = std::lower_bound(names.begin(), names.end(), label);
    return found != names.end() && *found == label ? found - names.begin() : -1;
  }
};

}  // namespace remblai
