// An experiment as one page for a browser, in the same dress as that of a model.
#pragma once

#include <string>

#include "results.h"

namespace remblai::experiments {

/// Every task must be in the journal. Holds no time: an interrupted run ends in the same bytes.
std::string page(const Experiment& experiment, const Settings& settings, const Table& table,
                 const Journal& journal);

}  // namespace remblai::experiments
