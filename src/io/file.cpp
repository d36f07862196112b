// Files as bytes: checked opening and reading, writing under a temporary name, text for messages.
// Nothing here knows a format.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

/// Length of the UTF-8 character at the front of `text`; 0 when there is none or it is a control.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead >= 0xf5   ? 0
                             : lead >= 0xf0 ? 4
                             : lead >= 0xe0 ? 3
                             : lead >= 0xc2 ? 2
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool beyond = lead == 0xf4 && byte(1) >= 0x90;
  const bool control = lead == 0xc2 && byte(1) < 0xa0;
  return overlong || surrogate || beyond || control ? 0 : length;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

[[noreturn]] void write_failed(const std::string& path, int code) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const bool no_folder = code == ENOENT || code == ENOTDIR;
  cannot_write(path, no_folder ? fmt::format("there is no folder '{}'", folder)
                               : std::string(std::strerror(code)));
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

}  // namespace

void cannot_read(const std::string& label, const std::string& message) {
  throw Error({.problem = fmt::format("cannot read '{}': {}", literal(label), literal(message))});
}

void damaged(const std::string& label, const std::string& why) {
  cannot_read(label, why + "; the file is truncated or damaged");
}

void cannot_write(const std::string& path, const std::string& message) {
  throw Error({.problem = fmt::format("cannot write '{}': {}", literal(path), literal(message))});
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string shown = "'";
  std::size_t characters = 0;
  while (!text.empty()) {
    if (++characters > longest) return shown + "...'";
    const std::size_t length = printable_length(text);
    if (length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return shown + "'";
}

std::string shape_text(const std::vector<Index>& shape) {
  return shape.empty() ? "one number" : fmt::format("{}", fmt::join(shape, " x "));
}

std::string among(const std::string& name, const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  std::string text = "it has ";
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  }
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty()) text += "; the nearest is " + in_quotes(nearest);
  return text;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 200;
  std::string nearest;
  std::size_t limit = std::max<std::size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : names) {
    if (name.size() > longest || candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < std::min(limit, candidate.size())) {
      limit = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

File::File(const std::string& path) : path_(path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    cannot_read(path, errno == ENOENT ? "no such file" : std::strerror(errno));
  }
  if (S_ISDIR(about.st_mode)) cannot_read(path, "it is a folder, not a file");
  if (!S_ISREG(about.st_mode)) cannot_read(path, "it is not a regular file");
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) cannot_read(path, std::strerror(errno));
  size_ = static_cast<std::uint64_t>(about.st_size);
  if (size_ == 0) {
    ::close(descriptor_);
    cannot_read(path, "the file is empty");
  }
}

File::~File() {
  ::close(descriptor_);
}

std::size_t File::read(void* to, std::size_t bytes) {
  bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, remaining()));
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(descriptor_, static_cast<char*>(to) + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(path_, std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  position_ += done;
  return done;
}

std::uint64_t Reader::skip(std::uint64_t bytes) {
  std::vector<char> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 1 << 17)));
  std::uint64_t done = 0;
  while (done < bytes) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), bytes - done);
    const std::size_t got = read(buffer.data(), wanted);
    done += got;
    if (got < wanted) break;
  }
  return done;
}

std::uint64_t File::skip(std::uint64_t bytes) {
  bytes = std::min(bytes, remaining());
  if (::lseek(descriptor_, static_cast<off_t>(bytes), SEEK_CUR) < 0) {
    cannot_read(path_, std::strerror(errno));
  }
  position_ += bytes;
  return bytes;
}

void write_atomically(const std::string& path,
                      const std::function<void(const std::string&)>& write) {
  static std::atomic<unsigned> serial{0};
  struct stat about {};
  if (path.empty()) cannot_write(path, "the name of the file is empty");
  if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) write_failed(path, EISDIR);

  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), serial++);
  if (const int made = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      made < 0 || ::close(made) != 0) {
    write_failed(path, errno);
  }
  try {
    write(temporary);
    Descriptor file(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.value() < 0 || ::fsync(file.value()) != 0) write_failed(path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) write_failed(path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void write_bytes(const std::string& path, const std::vector<std::string_view>& pieces) {
  write_atomically(path, [&](const std::string& temporary) {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (file.value() < 0) write_failed(path, errno);
    for (std::string_view piece : pieces) {
      while (!piece.empty()) {
        const ssize_t wrote = ::write(file.value(), piece.data(), piece.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) write_failed(path, errno);
        piece.remove_prefix(static_cast<std::size_t>(wrote));
      }
    }
    if (!file.close()) write_failed(path, errno);
  });
}

}  // namespace remblai::io
