// What a person sees while a fit runs, and how Ctrl-C reaches it.
// Both are the callback of fit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "remblai/fit.h"

namespace remblai::cli {

/// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// True when the stream is a terminal and NO_COLOR is not set.
bool colours(std::FILE* stream);

/// While one lives, the first Ctrl-C or SIGTERM only sets a flag; the second ends the program at
/// once.
class Interrupt {
 public:
  /// With `announce` the first one is answered on standard error, if that is a terminal: results
  /// are being written.
  explicit Interrupt(bool announce);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();
};

/// "mapping..." on standard error while one lives, once the run has lasted two seconds; silent when
/// that is no terminal and when `quiet`.
class PhaseLine {
 public:
  PhaseLine(bool quiet, const Stopwatch& run, std::string phase);
  ~PhaseLine();
  PhaseLine(const PhaseLine&) = delete;
  PhaseLine& operator=(const PhaseLine&) = delete;

 private:
  void show();

  std::string text_;
  bool shown_ = false, over_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread waiter_;
};

/// One line on standard error, rewritten in place; silent when that is no terminal, when `quiet`,
/// and in the first `delay` seconds. Clears its line at the end of its life.
class ProgressLine {
 public:
  ProgressLine(bool quiet, double delay, std::string title = "");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// The callback of fit. After Ctrl-C it stops the run at the end of the step, or within it when
  /// the step takes more than two seconds longer.
  bool operator()(const Progress& progress);

 private:
  std::string text(const Progress& progress) const;
  void show(const std::string& line);

  bool visible_;
  double delay_;
  std::string title_;
  Stopwatch watch_;
  double shown_at_ = 0;         // on watch_
  double interrupted_at_ = -1;  // on watch_
  std::size_t width_ = 0;       // of the line on the screen
  int done_ = 0;                // steps
  double done_at_ = 0;          // seconds of the fit
  double objective_ = 0;
};

/// fit with its lines: what it prepares, then its progress.
Model fit_with_progress(const Problem& problem, const Options& options, bool quiet,
                        const Stopwatch& run);

/// The exit code for how a fit ended; says on standard error why it did not converge, or that it
/// was stopped and what is `missing` for that.
int conclude(const Status& status, const std::string& missing = "");

}  // namespace remblai::cli
