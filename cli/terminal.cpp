// Standard streams that may be closed, full, or gone.
#include "terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace remblai::cli {

void prepare_descriptors() {
  // In this order each open takes the first free number, which is the closed one.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    const bool output = descriptor == STDOUT_FILENO;
    const int mode = descriptor == STDIN_FILENO ? O_RDONLY : O_WRONLY;
    if (open(output ? "/dev/full" : "/dev/null", mode) < 0) [[maybe_unused]]
      const int opened = open("/dev/null", mode);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void tell_text(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

bool flush_output() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

bool live(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return isatty(fileno(stream)) && !(term && std::string_view(term) == "dumb");
}

bool colours(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  return live(stream) && !(no_color && *no_color);
}

}  // namespace remblai::cli
