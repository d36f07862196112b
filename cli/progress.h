// What a person sees while a command works, and how Ctrl-C reaches it.
#pragma once

#include <chrono>
#include <condition_variable>
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

/// While one lives, the first Ctrl-C, SIGTERM or SIGHUP only sets a flag. A second Ctrl-C or
/// SIGTERM ends the program at once; a SIGHUP never does. One that is ignored, as nohup does, stays
/// so.
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
/// and in the first `delay` seconds. Clears its line at the end of its life. Of the first of
/// several ranks, whose standard error mpirun reads, it is a line of its own every ten seconds.
class LiveLine {
 public:
  LiveLine(bool quiet, double delay);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  /// Time for another text: one rewritten comes ten times a second at most.
  bool due() const;
  void show(const std::string& text);

 private:
  bool visible_, plain_;  // plain: lines that stay
  double delay_;
  Stopwatch watch_;
  double shown_at_;        // on watch_
  std::size_t width_ = 0;  // of the line on the screen
};

/// The line of one fit.
class ProgressLine {
 public:
  ProgressLine(bool quiet, double delay, std::string title = "");

  /// The callback of fit. After Ctrl-C it stops the run at the end of the step, or within it when
  /// the step takes more than two seconds longer.
  bool operator()(const Progress& progress);

 private:
  std::string text(const Progress& progress) const;

  LiveLine line_;
  std::string title_;
  Stopwatch watch_;
  double interrupted_at_ = -1;  // on watch_
  int done_ = 0;                // steps
  double done_at_ = 0;          // seconds of the fit
  double objective_ = 0;
};

/// The bar of many tasks, some of which were done before. Without a terminal it prints a line for
/// each tenth of them.
class TaskBar {
 public:
  TaskBar(bool quiet, std::size_t tasks, std::size_t before);

  /// False after Ctrl-C.
  bool operator()(std::size_t done);

 private:
  std::string text(std::size_t done) const;

  LiveLine line_;
  bool log_;
  std::size_t tasks_, before_, logged_;
  Stopwatch watch_;
};

/// fit with its lines: what it prepares, then its progress. A checkpoint that cannot be written is
/// told as a warning.
Model fit_with_progress(Problem problem, const Options& options, bool quiet, const Stopwatch& run,
                        Checkpoint checkpoint = {});

/// What --dry-run prints, as text or as JSON.
void tell_estimate(const Problem& problem, const Options& options, bool json);

/// Says that -1 is taken for a class.
void warn_of_minus_one();

/// Says what is odd about a problem that can be fitted all the same.
void warn_of(const Problem& problem);

/// Says what to know of a model before believing it, where no summary does.
void warn_of(const Model& model);

/// Throws Error when the fit needs more than the machine has. Says beforehand when it will take
/// days, and what would make it faster.
void require_reachable(const Problem& problem, const Options& options);

/// The fit is saved: its checkpoint goes away, unless it was stopped and can go on from there. A
/// link to it stays, as it does when the checkpoint is written.
void drop_checkpoint(const std::string& path, const Status& status);

/// The exit code for how a fit ended; says on standard error why it did not converge, or that it
/// was stopped and what is `missing` for that.
int conclude(const Status& status, const std::string& missing = "");

}  // namespace remblai::cli
