// Model files, command lines and journals.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "command_line.h"
#include "journal.h"
#include "remblai/error.h"
#include "remblai/model_io.h"
#include "remblai/report.h"
#include "targets.h"

namespace remblai::fuzz {

void model(std::string_view bytes) {
  with_file(with_checksums(bytes), ".npz", [](const std::string& path) {
    const Model loaded = load(path);
    summary(loaded, {});
    const std::string again = path + "-again.npz";
    save(loaded, again);
    load(again);
    ::unlink(again.c_str());
  });
}

// Nothing is done of what the words ask for.
void options(std::string_view bytes) {
  cli::Words words;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', begin), bytes.size());
    words.emplace_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  try {
    cli::parse_command_line(words);
  } catch (const Error& error) {
    if (printable(error.what()) != error.what()) std::abort();
  }
}

void journal(std::string_view bytes) {
  with_file(bytes, ".jsonl", [](const std::string& path) {
    const experiments::Json settings{{"version", "1"}, {"methods", {"identity"}}};
    const experiments::Journal opened(path, settings, true);
  });
}

}  // namespace remblai::fuzz
