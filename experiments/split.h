// One task of an experiment: labelled source points, target points to fit and to tune on, and
// target points to test on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "remblai/domain.h"

namespace remblai::experiments {

/// All labelled. No fit sees labels of the target; tuning sees those of `train`.
struct Split {
  Domain source;
  Domain train;
  Domain test;
};

/// The points and labels in these rows.
Domain rows_of(const Domain& domain, const std::vector<Index>& rows);

/// The rows of each class.
std::map<std::int64_t, std::vector<Index>> rows_by_class(const Domain& domain);

/// A number in hexadecimal that changes with any bit of the points and labels.
std::string fingerprint(const std::vector<const Domain*>& domains);

}  // namespace remblai::experiments
