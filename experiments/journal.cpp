// Lines of JSON: settings first, then tasks in the order in which they ended.
#include "journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "remblai/error.h"
#include "report/json.h"

namespace remblai::experiments {
namespace {

double from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

// Every run has these settings.
bool are_settings(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  return json.is_object() && json.contains("version") && json.contains("methods");
}

// Nothing when it cannot be read to its end; errno says why.
std::optional<std::string> read_all(int file) {
  std::string text;
  char block[1 << 16];
  while (true) {
    const ssize_t count = read(file, block, sizeof block);
    if (count == 0) return text;
    if (count > 0)
      text.append(block, static_cast<std::size_t>(count));
    else if (errno != EINTR)
      return std::nullopt;
  }
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
  const std::string status = json.at("status");
  const auto all = names(Outcome{});
  const auto found = std::find(all.begin(), all.end(), status);
  if (found == all.end()) throw Json::other_error::create(500, "unknown status " + status, &json);
  run.outcome = static_cast<Outcome>(found - all.begin());
  run.chosen = json.at("chosen");
  run.seconds = json.at("seconds");
  return run;
}

bool Journal::is_at(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && !file.eof() && are_settings(line);
}

Journal::Journal(const std::string& path, const Json& settings, bool resume, bool overwrite)
    : path_(path) {
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) fail(std::strerror(errno));
  try {
    if (flock(file_, LOCK_EX | LOCK_NB) != 0)
      fail(errno == EWOULDBLOCK
               ? "another run is writing to it; wait for its end, or give another --out"
               : std::strerror(errno));
    const std::optional<std::string> content = read_all(file_);
    if (!content) fail(std::strerror(errno));
    const std::string& text = *content;
    // Whoever was killed while writing left half a line.
    const std::size_t cut = text.rfind('\n');
    size_ = cut == std::string::npos ? 0 : static_cast<off_t>(cut) + 1;
    const bool begun = std::count(text.begin(), text.end(), '\n') > 1;
    if (begun && !resume)
      fail("a run is there already; give --resume to go on with it, or another --out");
    const bool ours = cut == std::string::npos ? settings.dump().starts_with(text)
                                               : begun || are_settings(text.substr(0, cut));
    if (!ours && !overwrite)
      fail("that is no journal of a run; give another --out, or --overwrite to replace it");
    if (begun)
      read(text.substr(0, static_cast<std::size_t>(size_)), settings);
    else
      size_ = 0;  // nothing was finished: the settings may change
    if (ftruncate(file_, size_) != 0) fail(std::strerror(errno));
    if (!begun) write_line(settings);
  } catch (...) {
    close(file_);
    throw;
  }
}

Journal::~Journal() {
  close(file_);
}

void Journal::fail(const std::string& cause) const {
  throw Error({.value = path_ + ":", .problem = literal(cause)});
}

void Journal::read(const std::string& text, const Json& settings) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::string damage;
    try {
      const Json json = parsed(line);
      if (number == 1) {
        require_same(json, settings);
        continue;
      }
      std::vector<Trial> runs;
      for (const Json& run : json.at("runs")) runs.push_back(run_from(run));
      for (const Json& method : settings.value("methods", Json::array()))
        if (std::none_of(runs.begin(), runs.end(), [&](const Trial& run) {
              return run.chosen && run.method == method.get<std::string>();
            }))
          damage = "no chosen run of " + method.get<std::string>();
      finished_[{json.at("task").get<std::string>(), json.at("seed").get<int>()}] = {
          json.at("data").get<std::string>(), std::move(runs)};
    } catch (const Json::exception& problem) {
      damage = problem.what();
    }
    if (!damage.empty())
      fail(fmt::format("line {} is damaged ({}); remove the line, or the file to begin again",
                       number, damage));
  }
}

void Journal::require_same(const Json& then, const Json& now) const {
  for (const auto& [key, value] : now.items()) {
    const std::string before = then.contains(key) ? then.at(key).dump() : "nothing";
    if (before != value.dump())
      fail(fmt::format("it was made with {} = {}, now it is {}; give the same, or another --out",
                       key, before, value.dump()));
  }
}

// A kill leaves at most a line that is cut short; any other failure takes back what it wrote.
void Journal::write_line(const Json& line) {
  const std::string text = line.dump() + "\n";
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file_, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const std::string cause = std::strerror(errno);
      if (ftruncate(file_, size_) != 0) fail("cannot be written to, nor mended: " + cause);
      fail("cannot be written to: " + cause);
    }
    written += static_cast<std::size_t>(count);
  }
  size_ += static_cast<off_t>(text.size());
  if (fdatasync(file_) != 0) fail(std::string("cannot be written to: ") + std::strerror(errno));
}

const std::vector<Trial>* Journal::find(const Task& task) const {
  const auto found = finished_.find({task.name, task.seed});
  if (found == finished_.end()) return nullptr;
  if (found->second.data != task.data)
    fail(
        fmt::format("task {}, seed {} was run with other data; give the same --data, or another "
                    "--out",
                    task.name, task.seed));
  return &found->second.runs;
}

void Journal::append(const Task& task, std::vector<Trial> runs) {
  Json line{{"task", task.name}, {"seed", task.seed}, {"data", task.data}};
  line["runs"] = Json::array();
  for (const Trial& run : runs) line["runs"].push_back(run_json(run));
  write_line(line);
  finished_[{task.name, task.seed}] = {task.data, std::move(runs)};
}

}  // namespace remblai::experiments
