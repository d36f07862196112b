// The words of the command line: how it spells what the library says.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace remblai::cli {

/// How the command line spells a name in a message of the library: an option or an input by its
/// flag, anything else as it is.
std::string flag_of(std::string_view name);

/// What an exception says, in the words of the command line.
std::string words_of(const std::exception& error);

/// " (did you mean 'x'?)" with the candidate nearest to `text`, or nothing when none is near.
std::string suggestion(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace remblai::cli
