// Lines of JSON: settings first, then tasks in the order in which they ended.
#include "journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include "json.h"
#include "remblai/error.h"

namespace remblai::experiments {
namespace {

double from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

std::string read_all(int file) {
  std::string text;
  char block[1 << 16];
  ssize_t count = 0;
  while ((count = read(file, block, sizeof block)) > 0)
    text.append(block, static_cast<std::size_t>(count));
  return text;
}

}  // namespace

Json run_json(const Trial& run) {
  return {{"method", run.method},
          {"lambda", number(run.lambda)},
          {"ridge", number(run.ridge)},
          {"train_accuracy", run.train_accuracy},
          {"test_accuracy", run.test_accuracy},
          {"steps", run.steps},
          {"passes", run.passes},
          {"status", name(run.outcome)},
          {"chosen", run.chosen},
          {"seconds", run.seconds}};
}

Trial run_from(const Json& json) {
  Trial run;
  run.method = json.at("method");
  run.lambda = from(json.at("lambda"));
  run.ridge = from(json.at("ridge"));
  run.train_accuracy = json.at("train_accuracy");
  run.test_accuracy = json.at("test_accuracy");
  run.steps = json.at("steps");
  run.passes = json.at("passes");
  run.outcome = enum_from<Outcome>(json.at("status").get<std::string>());
  run.chosen = json.at("chosen");
  run.seconds = json.at("seconds");
  return run;
}

Journal::Journal(const std::string& path, const Json& settings, bool resume) : path_(path) {
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) throw Error(fmt::format("{}: {}", path, std::strerror(errno)));
  try {
    if (flock(file_, LOCK_EX | LOCK_NB) != 0)
      throw Error(
          fmt::format("{}: another run is writing to it; wait for its end, or give "
                      "another --out",
                      path));
    std::string text = read_all(file_);
    // Whoever was killed while writing left half a line.
    const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    if (whole > 0 && !resume)
      throw Error(
          fmt::format("{}: a run is there already; give --resume to go on with it, or "
                      "another --out",
                      path));
    if (ftruncate(file_, static_cast<off_t>(whole)) != 0)
      throw Error(fmt::format("{}: {}", path, std::strerror(errno)));
    text.resize(whole);
    if (text.empty())
      write_line(settings);
    else
      read(text, settings);
  } catch (...) {
    close(file_);
    throw;
  }
}

Journal::~Journal() {
  close(file_);
}

void Journal::read(const std::string& text, const Json& settings) {
  std::size_t begin = 0;
  int number = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    try {
      const Json json = Json::parse(line);
      if (number == 1) {
        for (const auto& [key, value] : settings.items())
          if (!json.contains(key) || json.at(key) != value)
            throw Error(fmt::format(
                "{}: it was made with {} = {}, now it is {}; give the same, or another --out",
                path_, key, json.contains(key) ? json.at(key).dump() : "nothing", value.dump()));
        continue;
      }
      std::vector<Trial> runs;
      for (const Json& run : json.at("runs")) runs.push_back(run_from(run));
      runs_[{json.at("task").get<std::string>(), json.at("seed").get<int>()}] = std::move(runs);
    } catch (const Json::exception& problem) {
      throw Error(fmt::format("{}: line {} is damaged ({}); remove the file to begin again", path_,
                              number, problem.what()));
    }
  }
}

// In one call, so that a kill leaves at most a line that is cut short.
void Journal::write_line(const Json& line) {
  const std::string text = line.dump() + "\n";
  if (write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw Error(fmt::format("{}: cannot be written to: {}", path_, std::strerror(errno)));
}

const std::vector<Trial>* Journal::find(const Task& task) const {
  const auto found = runs_.find({task.name, task.seed});
  return found == runs_.end() ? nullptr : &found->second;
}

void Journal::append(const Task& task, std::vector<Trial> runs) {
  Json line{{"task", task.name}, {"seed", task.seed}, {"runs", Json::array()}};
  for (const Trial& run : runs) line["runs"].push_back(run_json(run));
  write_line(line);
  runs_[{task.name, task.seed}] = std::move(runs);
}

}  // namespace remblai::experiments
