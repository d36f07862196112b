// The command line as a whole: from its words to what to do.
#pragma once

#include <string>
#include <vector>

#include "commands.h"

namespace remblai::cli {

using Words = std::vector<std::string>;

/// Whether several processes can do this command together.
bool works_on_ranks(const std::string& command);

/// What the words, without the name of the program, ask for. Throws Error when they are mistaken.
/// Nothing is read, written or printed until the action is called.
Action parse_command_line(Words words);

}  // namespace remblai::cli
