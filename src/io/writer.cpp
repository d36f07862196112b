// The one writer of files: a temporary file beside the place, brought to the disk, then renamed.
// What stands at the place is never harmed: links are followed, permissions stay.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

namespace fs = std::filesystem;

/// `place` is where the links of `path` end, if they are known.
[[noreturn]] void write_failed(const std::string& path, int code, const std::string& place = {}) {
  const std::string& file = place.empty() ? path : place;
  const auto slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  std::error_code ignored;
  const bool no_folder = (code == ENOENT || code == ENOTDIR) && !fs::is_directory(folder, ignored);
  const bool full = code == ENOSPC || code == EDQUOT;
  cannot_write(path,
               no_folder ? fmt::format("there is no folder '{}'", folder)
               : full    ? fmt::format("{}; nothing was changed there", std::strerror(code))
                         : std::string(std::strerror(code)),
               code);
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }
  bool close() { return ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

/// Removes its file at the end, unless that has another name by then.
class Temporary {
 public:
  Temporary(const std::string& beside, const std::string& path) {
    static std::atomic<unsigned> serial{0};
    int made = -1;
    do {  // a killed run of the same number, as containers give it, may have left one
      const std::string mark = fmt::format(".remblai-tmp-{}-{}", ::getpid(), serial++);
      name_ = beside + mark;
      made = make();
      if (made < 0 && errno == ENAMETOOLONG) {  // a name that leaves no room for the mark
        name_ = (fs::path(beside).parent_path() / mark).string();
        made = make();
      }
    } while (made < 0 && errno == EEXIST);
    if (made < 0 || ::close(made) != 0) write_failed(path, errno, beside);
  }
  ~Temporary() { ::unlink(name_.c_str()); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  const std::string& name() const { return name_; }

 private:
  int make() const { return ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }

  std::string name_;
};

/// Where a chain of symbolic links ends, whether something is there or not.
std::string end_of_links(const std::string& path) {
  constexpr int longest = 40;
  fs::path place(path);
  std::error_code code;
  for (int links = 0; fs::is_symlink(fs::symlink_status(place, code)); ++links) {
    if (links == longest) write_failed(path, ELOOP);
    const fs::path target = fs::read_symlink(place, code);
    if (code) write_failed(path, code.value());
    place = target.is_absolute() ? target : place.parent_path() / target;
  }
  return place.string();
}

void write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) write_failed(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

/// A device takes the bytes as they come; a name cannot be given to it.
void write_device(const std::string& path, const std::function<void(const std::string&)>& write) {
  std::error_code code;
  const fs::path folder = fs::temp_directory_path(code);
  if (code)
    cannot_write(path, "TMPDIR names no folder, from which a device gets its bytes", code.value());
  const Temporary temporary((folder / "remblai").string(), path);
  write(temporary.name());
  const Descriptor from(::open(temporary.name().c_str(), O_RDONLY | O_CLOEXEC));
  Descriptor to(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (from.value() < 0 || to.value() < 0) write_failed(path, errno);
  std::vector<char> buffer(std::size_t{1} << 16);
  while (true) {
    const ssize_t got = ::read(from.value(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) write_failed(path, errno);
    if (got == 0) break;
    write_all(to.value(), {buffer.data(), static_cast<std::size_t>(got)}, path);
  }
  if (!to.close()) write_failed(path, errno);
}

void require_replaceable(const struct stat& about, const std::string& path) {
  if (S_ISDIR(about.st_mode)) write_failed(path, EISDIR);
  if (!S_ISREG(about.st_mode)) {
    const char* what = S_ISFIFO(about.st_mode)   ? "a pipe"
                       : S_ISSOCK(about.st_mode) ? "a socket"
                                                 : "a disk";
    cannot_write(path, fmt::format("it is {}, not a regular file", what), EINVAL);
  }
  if (about.st_nlink > 1)
    cannot_write(path,
                 fmt::format("the file has {} names (hard links), and the others would keep "
                             "the old content; remove this name first, or choose another",
                             about.st_nlink),
                 EINVAL);
  if (::access(path.c_str(), W_OK) != 0) write_failed(path, errno);
}

/// Links of /proc lead to what is open, and as a text to a name that this may have lost.
bool is_at(const std::string& place, const struct stat& about) {
  struct stat found {};
  return ::stat(place.c_str(), &found) == 0 && found.st_dev == about.st_dev &&
         found.st_ino == about.st_ino;
}

/// After a crash the name is there only when its folder has reached the disk too. Some file systems
/// know nothing of that.
void sync_folder(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  const Descriptor opened(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.value() >= 0) ::fsync(opened.value());
}

/// What stands at `path`, or nothing, and in `place` where its links end; a device has no place.
/// Throws Error where no file could be written.
std::optional<struct stat> look_at(const std::string& path, std::string& place) {
  if (path.empty()) cannot_write(path, "the name of the file is empty", ENOENT);
  struct stat about {};
  const bool there = ::stat(path.c_str(), &about) == 0;
  if (there && S_ISCHR(about.st_mode)) return about;
  if (there) require_replaceable(about, path);
  place = end_of_links(path);
  if (there && !is_at(place, about))
    cannot_write(path, "it is open, but no name leads to it any more", ENOENT);
  return there ? std::optional(about) : std::nullopt;
}

}  // namespace

void cannot_write(const std::string& path, const std::string& message, int code) {
  throw Error({.value = fmt::format("cannot write '{}':", path),
               .problem = literal(message),
               .code = code});
}

void write_atomically(const std::string& path,
                      const std::function<void(const std::string&)>& write) {
  std::string place;
  const std::optional<struct stat> there = look_at(path, place);
  if (place.empty()) return write_device(path, write);

  const Temporary temporary(place, path);
  write(temporary.name());
  const Descriptor file(::open(temporary.name().c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) write_failed(path, errno);
  if (there) {
    // The owner stays where the system lets it; what is shared with a group stays shared.
    [[maybe_unused]] const int ignored = ::fchown(file.value(), there->st_uid, there->st_gid);
    if (::fchmod(file.value(), there->st_mode & 07777) != 0) write_failed(path, errno);
  }
  if (::fsync(file.value()) != 0) write_failed(path, errno);
  if (::rename(temporary.name().c_str(), place.c_str()) != 0) write_failed(path, errno);
  sync_folder(place);
}

void require_writable(const std::string& path) {
  std::string place;
  look_at(path, place);
  if (place.empty()) {
    if (::access(path.c_str(), W_OK) != 0) write_failed(path, errno);
  } else {
    const Temporary attempt(place, path);
  }
}

void write_stream(const std::string& path, const std::function<void(const TakeBytes&)>& make) {
  write_atomically(path, [&](const std::string& temporary) {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (file.value() < 0) write_failed(path, errno);
    make([&](std::string_view bytes) { write_all(file.value(), bytes, path); });
    if (!file.close()) write_failed(path, errno);
  });
}

void write_bytes(const std::string& path, const std::vector<std::string_view>& pieces) {
  write_stream(path, [&](const TakeBytes& write) {
    for (const std::string_view piece : pieces) write(piece);
  });
}

}  // namespace remblai::io
