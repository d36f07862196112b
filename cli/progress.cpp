// The progress line, its estimate of the time left, and the handler of Ctrl-C.
// Without a terminal nothing is printed, but Ctrl-C works all the same.
#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "commands.h"

namespace remblai::cli {
namespace {

constexpr double refresh_seconds = 0.1;
constexpr double patience_seconds = 2;  // for a step to end after Ctrl-C

volatile std::sig_atomic_t interrupt_flag = 0;
struct sigaction previous_action;

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.1f}s", seconds);
  const double minutes = std::floor(seconds / 60);
  if (minutes < 100) return fmt::format("{:.0f}min {:.0f}s", minutes, seconds - 60 * minutes);
  return fmt::format("{:.1f}h", seconds / 3600);
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col - 1u;
  return 99;
}

}  // namespace

bool colours(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(fileno(stream)) && !(no_color && *no_color);
}

Interrupt::Interrupt() {
  interrupt_flag = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_flag = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, &previous_action);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &previous_action, nullptr);
}

bool Interrupt::requested() {
  return interrupt_flag != 0;
}

ProgressLine::ProgressLine(bool quiet, double delay, std::string title)
    : visible_(!quiet && isatty(STDERR_FILENO)), delay_(delay), title_(std::move(title)) {}

ProgressLine::~ProgressLine() {
  if (width_ > 0) show("");
}

void ProgressLine::show(const std::string& line) {
  const std::string cut = line.substr(0, terminal_width());
  fmt::print(stderr, "\r{:<{}}\r{}", "", width_, cut);
  std::fflush(stderr);
  width_ = cut.size();
}

std::string ProgressLine::text(const Progress& progress) const {
  std::string line = progress.steps == 1
                         ? fmt::format("{}pass {}", title_, progress.inner_iterations)
                         : fmt::format("{}step {}/{}", title_, progress.step, progress.steps);
  if (Interrupt::requested()) return line + "  stopping (Ctrl-C again ends at once)";
  if (done_ > 0) line += fmt::format("  objective {:.6g}", objective_);
  line += fmt::format("  marginal error {:.1e}  elapsed {}", progress.marginal_error,
                      duration(progress.seconds));
  if (done_ > 0 && progress.steps > 1) {
    const double left = done_at_ / done_ * progress.steps - progress.seconds;
    line += fmt::format("  about {} left", duration(std::max(left, 0.0)));
  }
  return line;
}

bool ProgressLine::operator()(const Progress& progress) {
  if (progress.record) {
    done_ = progress.step;
    done_at_ = progress.seconds;
    objective_ = progress.record->objective;
  }
  const double now = watch_.seconds();
  if (visible_ && now > delay_ && now - shown_at_ > refresh_seconds) {
    show(text(progress));
    shown_at_ = now;
  }
  if (!Interrupt::requested()) return true;
  if (interrupted_at_ < 0) interrupted_at_ = now;
  return !progress.record && now - interrupted_at_ < patience_seconds;
}

int conclude(const Status& status) {
  if (Interrupt::requested()) {
    fmt::print(stderr, "stopped by Ctrl-C: {}\n", status.reason);
    return Exit::interrupted;
  }
  if (status.converged()) return Exit::success;
  fmt::print(stderr, "warning: not converged: {}\n", status.reason);
  return Exit::not_converged;
}

}  // namespace remblai::cli
