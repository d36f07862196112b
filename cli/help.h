// How --help looks: one flag a paragraph, with its values and its default, in 100 columns.
// Shared by all subcommands.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace remblai::cli {

std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace remblai::cli
