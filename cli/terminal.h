// Text for a person: what cannot be printed is never the end of a run.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace remblai::cli {

/// Opens the standard descriptors that are closed, so that no file of ours takes their place and
/// gets what is printed. What is printed to a closed standard output counts as lost. A pipe whose
/// reader has gone, and a file beyond the limit of the shell, are errors of writing, and no longer
/// the end of the program.
void prepare_descriptors();

/// Writes text; never throws. A stream that takes it no more remembers that.
void tell_text(std::FILE* stream, std::string_view text);

template <class... Parts>
void tell(std::FILE* stream, fmt::format_string<Parts...> format, Parts&&... parts) {
  tell_text(stream, fmt::format(format, std::forward<Parts>(parts)...));
}
template <class... Parts>
void tell(fmt::format_string<Parts...> format, Parts&&... parts) {
  tell_text(stdout, fmt::format(format, std::forward<Parts>(parts)...));
}

/// Brings the standard output to its end; false when something of it was lost.
bool flush_output();

/// True when the stream is a terminal that can rewrite its lines: TERM is not dumb.
bool live(std::FILE* stream);

/// True when it is one and NO_COLOR is not set.
bool colours(std::FILE* stream);

}  // namespace remblai::cli
