// What may be written where, and how it gets there.
#include "outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "remblai/error.h"
#include "remblai/io.h"

namespace remblai::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view aside_prefix = ".remblai-results-", aside_end = "XXXXXX";
constexpr std::string_view half_written = ".remblai-tmp-";
constexpr const char* record = "report.json";
constexpr const char* came_meanwhile = "something came there while this run was at work";

[[noreturn]] void refuse(const std::string& flag, const std::string& path, const std::string& cause,
                         const char* remedy = "choose a place that can be written to") {
  throw Error({.field = flag, .value = path + ":", .problem = literal(cause), .remedy = remedy});
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// The same place, whether something is there or not; links are followed.
bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path whole_a = fs::weakly_canonical(a, error), whole_b = fs::weakly_canonical(b, error);
  return !whole_a.empty() && whole_a == whole_b;
}

bool is_input(const fs::path& path, const Inputs& inputs, std::string* which = nullptr) {
  for (const auto& [what, file] : inputs) {
    if (!same_place(io::parse_spec(file).path, path)) continue;
    if (which) *which = what;
    return true;
  }
  return false;
}

void refuse_input(const std::string& flag, const fs::path& path, const Inputs& inputs) {
  std::string which;
  if (is_input(path, inputs, &which))
    refuse(flag, path.string(), fmt::format("that is the file of --{}", which),
           "choose another place, so that no input is lost");
}

void refuse_taken(const std::string& flag, const fs::path& path) {
  if (flag == "--checkpoint")
    refuse(flag, path.string(), "something is there already",
           "give --resume to go on from it, or --overwrite to begin anew");
  refuse(flag, path.string(), "something is there already that no run has listed as its own",
         "choose another place, or give --overwrite to replace it");
}

/// True for a regular file, or a link to one. A device is written into, and loses nothing.
bool in_the_way(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_character_file(path, error);
}

/// True for anything at all, a link that leads nowhere included: a move would replace it.
bool stands(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// Moves a file to where nothing stands. False, with errno, when it cannot be, or something does.
bool move_anew(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (!stands(to)) return rename(from.c_str(), to.c_str()) == 0;  // not every file system knows it
  errno = EEXIST;
  return false;
}

/// Folders beside results whose runs no longer hold them, and files that a killed process left half
/// written: NAME.remblai-tmp-PROCESS-SERIAL, and with .XXXXXX what libzip makes beside it, when
/// there is no such process and they are not new. (The process may belong to another machine.) Our
/// own number is that of a process in a container before: this one has written nothing yet.
void sweep(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(aside_prefix) && name.size() == aside_prefix.size() + aside_end.size() &&
        entry.is_directory(error)) {
      const int held = ::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (held >= 0 && flock(held, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), error);
      if (held >= 0) close(held);
      continue;
    }
    const auto mark = name.rfind(half_written);
    if (mark == std::string::npos || !entry.is_regular_file(error)) continue;
    int process = 0, serial = 0;
    const char* end = name.data() + name.size();
    const auto first = std::from_chars(name.data() + mark + half_written.size(), end, process);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-' || process <= 0) continue;
    const auto second = std::from_chars(first.ptr + 1, end, serial);
    const bool of_libzip = end - second.ptr == 7 && *second.ptr == '.';
    if (second.ec != std::errc() || (second.ptr != end && !of_libzip)) continue;
    const bool dead = process == getpid() || (kill(process, 0) != 0 && errno == ESRCH);
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(error);
    if (dead && !error && age > std::chrono::minutes(10)) fs::remove(entry.path(), error);
  }
}

/// Whether its folder will be made before it is written.
bool made_later(const Output& output, const std::string& folder) {
  return !folder.empty() && same_place(folder_of(output.path), folder);
}

void require_folder(const Output& output, const std::string& later) {
  const fs::path file(output.path);
  if (file.extension() != output.extension) {
    throw Error({.field = output.flag,
                 .value = output.path + ":",
                 .problem = fmt::format("the result is a {} file", output.extension),
                 .remedy = fmt::format("end its name in {}", output.extension)});
  }
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) refuse(output.flag, output.path, "that is a folder");
  if (made_later(output, later)) return;
  const fs::path folder = folder_of(file);
  if (!fs::is_directory(folder, ignored)) {
    const bool exists = fs::exists(folder, ignored);
    const std::string name = folder.string();
    refuse(output.flag, output.path,
           exists ? name + " is not a folder" : "there is no folder " + name);
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    refuse(output.flag, output.path,
           fmt::format("folder {}: {}", folder.string(), std::strerror(errno)));
  }
}

/// What the report of an earlier run lists as its own: names without a path.
std::vector<std::string> listed_in(const fs::path& report) {
  std::error_code error;
  if (!fs::is_regular_file(report, error)) return {};
  std::ifstream stream(report);
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  std::vector<std::string> names;
  if (!json.is_object() || !json.contains("files") || !json["files"].is_array()) return names;
  for (const auto& name : json["files"])
    if (name.is_string()) names.push_back(name);
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void require_outputs(const std::vector<Output>& outputs, const Inputs& inputs, bool overwrite,
                     const std::string& folder) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty()) continue;
    require_folder(*output, folder);
    refuse_input(output->flag, output->path, inputs);
    for (auto other = outputs.begin(); other != output; ++other)
      if (!other->path.empty() && same_place(other->path, output->path))
        refuse(output->flag, output->path, "that is the file of " + other->flag,
               "choose another place");
    if (!overwrite && !output->ours && in_the_way(output->path))
      refuse_taken(output->flag, output->path);
    if (!made_later(*output, folder)) io::require_writable(output->path);
    sweep(folder_of(output->path));
  }
}

void write_output(const Output& output, bool overwrite,
                  const std::function<void(const std::string&)>& write) {
  if (overwrite || output.ours || !in_the_way(output.path)) return write(output.path);
  const fs::path place(output.path);
  fs::path kept;
  for (int i = 1; kept.empty() || stands(kept); ++i)
    kept = folder_of(place) / fmt::format("{}-{}{}", place.stem().string(), i, output.extension);
  write(kept.string());
  refuse(output.flag, output.path, came_meanwhile,
         literal("the result is kept in " + kept.string()).c_str());
}

OutputFolder::OutputFolder(const std::string& path, std::vector<std::string> names,
                           const std::vector<std::string>& wanted, const Inputs& inputs,
                           bool overwrite)
    : path_(path), overwrite_(overwrite), names_(std::move(names)), inputs_(inputs) {
  const std::string flag = "--out";
  std::error_code error;
  for (const std::string& name : listed_in(fs::path(path) / record))
    if (has(names_, name)) own_.push_back(name);
  for (const std::string& name : names_) {
    const fs::path place = fs::path(path) / name;
    if (fs::is_directory(place, error)) refuse(flag, place.string(), "that is a folder");
  }
  for (const std::string& name : wanted) {
    const fs::path place = fs::path(path) / name;
    refuse_input(flag, place, inputs);
    if (!replaces(name) && stands(place)) refuse_taken(flag, place);
  }
}

bool OutputFolder::replaces(const std::string& name) const {
  return overwrite_ || has(own_, name);
}

void OutputFolder::open() {
  std::error_code error;
  made_ = !fs::exists(path_, error);
  if (!made_) {
    folder_lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_lock_ >= 0 && flock(folder_lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      refuse("--out", path_, "another run is going to write there",
             "wait for its end, or choose another place");
  }
  if (made_ && fs::is_symlink(fs::symlink_status(path_, error)))
    refuse("--out", path_, "it is a link that leads nowhere");
  fs::path parent = fs::absolute(path_, error);
  if (!parent.has_filename()) parent = parent.parent_path();  // "a/b/"
  if (made_) parent = parent.parent_path();
  for (fs::path folder = parent; !error && !fs::exists(folder, error);
       folder = folder.parent_path()) {
    created_.insert(created_.begin(), folder.string());
  }
  fs::create_directories(parent, error);
  if (!error) sweep(parent);
  // Another run that sweeps may take the folder for a dead one before it is locked.
  for (bool swept = true; swept;) {
    aside_ = (parent / (std::string(aside_prefix) + std::string(aside_end))).string();
    if (error || !mkdtemp(aside_.data())) {
      const std::string cause = error ? error.message() : std::strerror(errno);
      aside_.clear();
      discard();
      refuse("--out", path_, cause);
    }
    lock_ = ::open(aside_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    swept = lock_ < 0 || (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
            !fs::exists(aside_, error);
    if (swept && lock_ >= 0) close(std::exchange(lock_, -1));
  }
}

OutputFolder::~OutputFolder() {
  discard();
  if (lock_ >= 0) close(lock_);
  if (folder_lock_ >= 0) close(folder_lock_);
}

void OutputFolder::discard() noexcept {
  std::error_code error;
  if (!aside_.empty()) fs::remove_all(aside_, error);
  for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder) {
    fs::remove(*folder, error);
    if (error) break;  // not empty: it holds results
  }
}

std::string OutputFolder::file(const std::string& name) const {
  return (fs::path(aside_) / name).string();
}

std::vector<std::string> OutputFolder::written() const {
  std::vector<std::string> written;
  std::error_code error;
  for (const std::string& name : names_)
    if (fs::exists(fs::path(aside_) / name, error)) written.push_back(name);
  return written;
}

std::vector<std::string> OutputFolder::kept() const {
  const std::vector<std::string> files = written();
  std::vector<std::string> kept;
  for (const std::string& name : own_)
    if (!has(files, name) && name != record && is_input(fs::path(path_) / name, inputs_))
      kept.push_back(name);
  return kept;
}

// Under a name that no sweep takes for its own.
std::string OutputFolder::keep_aside() {
  const fs::path aside(std::exchange(aside_, {}));
  const fs::path kept = aside.parent_path() / aside.filename().string().substr(1);
  std::error_code error;
  fs::rename(aside, kept, error);
  return (error ? aside : kept).string();
}

void OutputFolder::publish() {
  std::error_code error;
  if (made_) {
    const mode_t mask = umask(0);
    umask(mask);
    chmod(aside_.c_str(), 0777 & ~mask);
    fs::path place(path_);
    if (!place.has_filename()) place = place.parent_path();
    if (rename(aside_.c_str(), place.c_str()) == 0) {
      aside_.clear();
      return;
    }
    fs::create_directory(path_, error);  // somebody made it meanwhile, unless this fails too
  }
  // The report comes last: where a new one stands, all of its files are there.
  std::vector<std::string> files = written(), moved;
  std::stable_partition(files.begin(), files.end(),
                        [](const std::string& name) { return name != record; });
  const auto stop = [&](const std::string& name, const std::string& cause) {
    const std::string here =
        moved.empty() ? std::string("nothing in the folder was changed")
                      : fmt::format("of this run the folder has {} only", fmt::join(moved, ", "));
    refuse("--out", (fs::path(path_) / name).string(), cause,
           literal(fmt::format("{}; the rest is kept in {}", here, keep_aside())).c_str());
  };
  for (const std::string& name : files)
    if (!replaces(name) && stands(fs::path(path_) / name)) stop(name, came_meanwhile);
  for (const std::string& name : files) {
    const fs::path from = fs::path(aside_) / name, place = fs::path(path_) / name;
    if (replaces(name) ? rename(from.c_str(), place.c_str()) != 0 : !move_anew(from, place))
      stop(name, errno == EEXIST ? came_meanwhile : std::strerror(errno));
    moved.push_back(name);
  }
  for (const std::string& name : own_) {
    const fs::path place = fs::path(path_) / name;
    if (!has(files, name) && !is_input(place, inputs_)) fs::remove(place, error);
  }
}

}  // namespace remblai::cli
