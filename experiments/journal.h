// The journal of an experiment: one line for each finished task, written at once, so that a run
// that was killed at any moment can go on from it.
#pragma once

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
  /// the first line. An existing journal is read with `resume` (a last line that was cut short is
  /// dropped) and refused without. Throws Error when it was made with other settings, naming the
  /// first that differs, when it is damaged, and when another process writes to it.
  Journal(const std::string& path, const Json& settings, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The runs of a finished task; null when it is not there.
  const std::vector<Trial>* find(const Task& task) const;

  /// Not for two threads at a time.
  void append(const Task& task, std::vector<Trial> runs);

 private:
  void read(const std::string& text, const Json& settings);
  void write_line(const Json& line);

  std::string path_;
  int file_ = -1;
  std::map<std::pair<std::string, int>, std::vector<Trial>> runs_;  // by name and seed
};

/// One run as JSON and back; NaN is null.
Json run_json(const Trial& run);
Trial run_from(const Json& json);

}  // namespace remblai::experiments
