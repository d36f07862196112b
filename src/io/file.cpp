// Files as bytes: checked opening and reading, text for messages.
// Nothing here knows a format.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

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

}  // namespace

void cannot_read(const std::string& label, const std::string& message, int code) {
  throw Error({.value = fmt::format("cannot read '{}':", label),
               .problem = literal(message),
               .code = code});
}

void damaged(const std::string& label, const std::string& why) {
  cannot_read(label, why + "; the file is truncated or damaged");
}

Entry or_refusal(const std::function<Entry()>& describe) {
  try {
    return describe();
  } catch (const Error& error) {
    // The problem alone, without the name of the file that stands before it.
    return {.name = "",
            .type = "damaged",
            .shape = {},
            .refusal = Message{.problem = error.message().problem}.text(),
            .damaged = true};
  }
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  return fmt::format("'{}'", printable(text, longest));
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
    const int code = errno;
    cannot_read(path, code == ENOENT ? "no such file" : std::strerror(code), code);
  }
  if (S_ISDIR(about.st_mode)) cannot_read(path, "it is a folder, not a file", EISDIR);
  if (!S_ISREG(about.st_mode)) cannot_read(path, "it is not a regular file", EINVAL);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) cannot_read(path, std::strerror(errno), errno);
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
    if (got < 0) cannot_read(path_, std::strerror(errno), errno);
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
    cannot_read(path_, std::strerror(errno), errno);
  }
  position_ += bytes;
  return bytes;
}

}  // namespace remblai::io
