// The paper's second experiment: object photos from four sources.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "split.h"

namespace remblai::experiments {

/// First letters name the domains in tasks: "A-C" carries labels from Amazon to Caltech.
inline constexpr std::array<std::string_view, 4> office_domains{"amazon", "caltech", "dslr",
                                                                "webcam"};

struct OfficeCaltech {
  std::map<char, Domain> domains;       ///< by letter: A, C, D, W
  std::map<char, std::string> missing;  ///< the file that was looked for
  std::vector<std::string> files = {};  ///< that were read
};

/// DOMAIN.mat or DOMAIN.npz for each domain, points and labels in one file. Throws Error when the
/// folder does not exist, naming those beside it, or when the files do not fit together: other
/// features, other classes.
OfficeCaltech read_office_caltech(const std::string& folder);

/// All twelve, in the order of the paper's table.
std::vector<std::string> office_tasks();

/// Source: 10 points of each class, 8 when it is DSLR. Target: a random half to train, the other
/// (one larger when the number is odd) to test.
Split draw_office_caltech(const OfficeCaltech& data, const std::string& task, int seed);

}  // namespace remblai::experiments
