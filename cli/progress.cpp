// The progress line, its estimate of the time left, and the handler of Ctrl-C.
// Without a terminal only the bar of many tasks prints, and a fit under mpirun, but Ctrl-C works
// all the same.
#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "arguments.h"
#include "commands.h"
#include "ranks.h"
#include "remblai/diagnosis.h"
#include "remblai/estimate.h"
#include "remblai/evaluate.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

constexpr double refresh_seconds = 0.1;
constexpr double plain_seconds = 10;           // between lines that stay
constexpr double stop_patience_seconds = 0.5;  // for a step to end after Ctrl-C

constexpr double short_run_seconds = 2;  // needs no line for its phases
constexpr std::string_view announcement =
    "\nstopping: results are being written; Ctrl-C again aborts and loses them\n";

volatile std::sig_atomic_t interrupt_signal = 0;  // the first one caught
volatile std::sig_atomic_t asked_to_end = 0;      // by a SIGINT or SIGTERM
volatile std::sig_atomic_t announce_interrupt = 0;
constexpr std::array<int, 3> caught_signals{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, 3> previous_actions;

/// Only calls that a signal handler may make. Shells, the kernel and systemd each send a SIGHUP of
/// their own when a terminal goes, so that none of them ends what another has stopped.
void handle(int signal) {
  if (signal != SIGHUP && asked_to_end != 0) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // delivered when this returns
    return;
  }
  if (signal != SIGHUP) asked_to_end = 1;
  if (interrupt_signal != 0) return;
  interrupt_signal = signal;
  if (announce_interrupt != 0) {
    const int kept = errno;
    [[maybe_unused]] const ssize_t ignored =
        write(STDERR_FILENO, announcement.data(), announcement.size());
    errno = kept;
  }
}

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.1f}s", seconds);
  const double whole = std::round(seconds);
  const double minutes = std::floor(whole / 60);
  if (minutes < 100) return fmt::format("{:.0f}min {:.0f}s", minutes, whole - 60 * minutes);
  return fmt::format("{:.1f}h", seconds / 3600);
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col - 1u;
  return 99;
}

}  // namespace

Interrupt::Interrupt(bool announce) {
  interrupt_signal = 0;
  asked_to_end = 0;
  announce_interrupt = announce && isatty(STDERR_FILENO);
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < caught_signals.size(); ++i) {
    sigaction(caught_signals[i], &action, &previous_actions[i]);
    if (caught_signals[i] == SIGHUP && previous_actions[i].sa_handler == SIG_IGN)
      sigaction(SIGHUP, &previous_actions[i], nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < caught_signals.size(); ++i)
    sigaction(caught_signals[i], &previous_actions[i], nullptr);
}

bool Interrupt::requested() {
  return interrupt_signal != 0;
}

PhaseLine::PhaseLine(bool quiet, const Stopwatch& run, std::string phase)
    : text_(std::move(phase) + "...") {
  if (quiet || !live(stderr)) return;
  const double left = short_run_seconds - run.seconds();
  if (left <= 0) {
    show();
    return;
  }
  waiter_ = std::thread([this, left] {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::duration<double>(left), [this] { return over_; })) {
      show();
    }
  });
}

PhaseLine::~PhaseLine() {
  if (waiter_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    waiter_.join();
  }
  if (!shown_) return;
  tell(stderr, "\r{:<{}}\r", "", text_.size());
  std::fflush(stderr);
}

void PhaseLine::show() {
  tell(stderr, "\r{}", text_);
  std::fflush(stderr);
  shown_ = true;
}

// A rank never writes to the terminal itself: mpirun reads it through a pipe.
LiveLine::LiveLine(bool quiet, double delay)
    : visible_(!quiet && (live(stderr) || ranks())),
      plain_(!live(stderr)),
      delay_(delay),
      shown_at_(-plain_seconds) {}

LiveLine::~LiveLine() {
  if (width_ > 0) show("");
}

bool LiveLine::due() const {
  const double now = watch_.seconds();
  return visible_ && now > delay_ && now - shown_at_ > (plain_ ? plain_seconds : refresh_seconds);
}

void LiveLine::show(const std::string& text) {
  if (plain_) {
    tell(stderr, "{}\n", text);
    shown_at_ = watch_.seconds();
    return;
  }
  const std::string cut = text.substr(0, terminal_width());
  tell(stderr, "\r{:<{}}\r{}", "", width_, cut);
  std::fflush(stderr);
  width_ = cut.size();
  shown_at_ = watch_.seconds();
}

ProgressLine::ProgressLine(bool quiet, double delay, std::string title)
    : line_(quiet, delay), title_(std::move(title)) {}

std::string ProgressLine::text(const Progress& progress) const {
  std::string line = progress.steps == 1
                         ? fmt::format("{}pass {}", title_, progress.inner_iterations)
                         : fmt::format("{}step {}/{}", title_, progress.step, progress.steps);
  if (Interrupt::requested()) return line + "  stopping";
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
  if (line_.due()) line_.show(text(progress));
  if (!Interrupt::requested()) return true;
  const double now = watch_.seconds();
  if (interrupted_at_ < 0) interrupted_at_ = now;
  return !progress.record && now - interrupted_at_ < stop_patience_seconds;
}

TaskBar::TaskBar(bool quiet, std::size_t tasks, std::size_t before)
    : line_(quiet, 0.5),
      log_(!quiet && !live(stderr)),
      tasks_(tasks),
      before_(before),
      logged_(10 * before / tasks) {}

std::string TaskBar::text(std::size_t done) const {
  constexpr std::size_t width = 30;
  const std::size_t full = width * done / tasks_;
  std::string line = fmt::format("{}/{}  elapsed {}", done, tasks_, duration(watch_.seconds()));
  if (Interrupt::requested()) return line + "  stopping";
  if (done > before_) {
    const double each = watch_.seconds() / static_cast<double>(done - before_);
    line += fmt::format("  about {} left", duration(each * static_cast<double>(tasks_ - done)));
  }
  // Last, so that a narrow terminal cuts it and not the numbers.
  return line + fmt::format("  [{:#<{}}{:.<{}}]", "", full, "", width - full);
}

bool TaskBar::operator()(std::size_t done) {
  if (line_.due()) line_.show(text(done));
  if (log_ && 10 * done / tasks_ > logged_) {
    logged_ = 10 * done / tasks_;
    tell(stderr, "{}\n", text(done));
  }
  return !Interrupt::requested();
}

Model fit_with_progress(Problem problem, const Options& options, bool quiet, const Stopwatch& run,
                        Checkpoint checkpoint) {
  checkpoint.warn = [](const Message& message) {
    tell(stderr, "\nwarning: no checkpoint: {}; the fit goes on\n", message.text(flag_of));
  };
  std::optional<PhaseLine> preparing(std::in_place, quiet, run, "preparing");
  ProgressLine line(quiet, 0.5);
  const Callback watch = [&](const Progress& progress) {
    preparing.reset();
    return line(progress);
  };
  return fit(std::move(problem), options, watch, nullptr, checkpoint);
}

void tell_estimate(const Problem& problem, const Options& options, bool json) {
  const Estimate needs = estimate(problem, options);
  if (json) {
    const nlohmann::ordered_json numbers{
        {"memory", needs.memory}, {"available", needs.available},
        {"stored", needs.stored}, {"pass_seconds", needs.pass_seconds},
        {"passes", needs.passes}, {"step_seconds", needs.step_seconds},
        {"steps", needs.steps},   {"seconds", needs.seconds()}};
    return tell("{}\n", nlohmann::ordered_json{{"estimate", numbers}}.dump(2));
  }
  tell("memory         about {:.2g} GiB, {:.2g} GiB are free\n", needs.memory / 0x1p30,
       needs.available / 0x1p30);
  tell("all pairs      {}\n", needs.stored ? "kept" : "made anew in every pass");
  tell("one pass       about {}\n", duration(needs.pass_seconds));
  tell("one step       about {}, with {} passes\n", duration(needs.step_seconds), needs.passes);
  tell("the whole fit  about {}, with {} steps at most\n", duration(needs.seconds()), needs.steps);
}

void warn_of_minus_one() {
  tell(stderr,
       "warning: labels are -1 and 1 alone, so -1 is a class; beside other labels it marks one "
       "that is not known\n");
}

void warn_of(const Problem& problem) {
  if (several_ranks()) return;
  const Labels& labels = problem.source.labels;
  if (minus_one_is_class(labels)) warn_of_minus_one();
  for (const auto& [what, points] :
       {std::pair("source", problem.source.size()), std::pair("target", problem.target.size())})
    if (points == 1)
      tell(stderr,
           "warning: the {} has one point, so that a plan has no choice and a metric little to "
           "learn from (--transpose if the points are columns)\n",
           what);
  if (labels.size() > 1 && (labels.array() == labels[0]).all())
    tell(stderr,
         "warning: all source points have the label {}, so every prediction is that label\n",
         labels[0]);
}

void warn_of(const Model& model) {
  for (const Warning& warning : warnings(model))
    tell(stderr, "warning: {}\n", warning.text(flag_of));
}

void require_reachable(const Problem& problem, const Options& options) {
  require_reach(problem, options);
  constexpr double many_pairs = 1e9, a_day = 86400;
  const double pairs =
      static_cast<double>(problem.source.size()) * static_cast<double>(problem.target.size());
  if (pairs < many_pairs) return;
  const Estimate needs = estimate(problem, options);
  if (needs.seconds() < a_day) return;
  tell(stderr,
       "warning: this will take about {:.0f} days; {} would make it faster, and --checkpoint keeps "
       "what is reached\n",
       needs.seconds() / a_day, Message{.problem = needs.faster}.text(flag_of));
}

void drop_checkpoint(const std::string& path, const Status& status) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (path.empty() || status.outcome == Outcome::stopped) return;
  const fs::path file = fs::canonical(path, error);
  if (!error && fs::is_regular_file(file, error)) fs::remove(file, error);
}

int conclude(const Status& status, const std::string& missing) {
  // Another rank may have been asked, and one that was leaves the same out as all.
  if (Interrupt::requested() || status.outcome == Outcome::stopped || !missing.empty()) {
    const std::string how_far = status.message.text(flag_of);
    tell(stderr, "stopped by {}{}{}{}\n",
         interrupt_signal == SIGINT   ? "Ctrl-C"
         : interrupt_signal == SIGHUP ? "the end of its terminal"
                                      : "a request to terminate",
         how_far.empty() ? "" : ": ", how_far, missing.empty() ? "" : "; not written: " + missing);
    return Exit::interrupted;
  }
  if (status.converged()) return Exit::success;
  tell(stderr, "warning: not converged: {}\n", status.message.text(flag_of));
  return Exit::not_converged;
}

}  // namespace remblai::cli
