// The journal of an experiment: one line for each finished task, written at once, so that a run
// that was killed at any moment can go on from it.
#pragma once

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiment.h"

namespace remblai::experiments {

using Json = nlohmann::ordered_json;

class Journal {
 public:
  /// Opens `path` for this process alone. `settings` is what the result of a task depends on: it is
  /// the first line. A journal with finished tasks is read with `resume` (a last line that was cut
  /// short is dropped) and refused without. Throws Error when it was made with other settings,
  /// naming the first that differs, when it is damaged, and when another process writes to it. What
  /// is there and is no journal is replaced only with `overwrite`.
  Journal(const std::string& path, const Json& settings, bool resume, bool overwrite = false);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Whether a journal is there: its first line is whole, and has the settings of a run.
  static bool is_at(const std::string& path);

  /// The runs of a finished task; null when it is not there. Throws Error when it was finished with
  /// other data.
  const std::vector<Trial>* find(const Task& task) const;

  /// On the disk when it returns. Not for two threads at a time.
  void append(const Task& task, std::vector<Trial> runs);

 private:
  [[noreturn]] void fail(const std::string& cause) const;
  void read(const std::string& text, const Json& settings);
  void require_same(const Json& then, const Json& now) const;
  void write_line(const Json& line);

  std::string path_;
  int file_ = -1;
  off_t size_ = 0;  // of the whole lines
  struct Finished {
    std::string data;
    std::vector<Trial> runs;
  };
  std::map<std::pair<std::string, int>, Finished> finished_;  // by name and seed
};

/// One run as JSON and back; NaN is null.
Json run_json(const Trial& run);
Trial run_from(const Json& json);

}  // namespace remblai::experiments
