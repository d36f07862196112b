// Readers of files, and files for them: in memory, under a name with the right ending.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "remblai/error.h"
#include "remblai/io.h"
#include "targets.h"

namespace remblai::fuzz {
namespace {

std::uint32_t load(const std::string& bytes, std::size_t at, std::size_t width) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, width);  // zip is little-endian, and so is all we fuzz on
  return value;
}

/// The checksum of a member whose local header is at `at`; false when it lies outside.
bool checksum(const std::string& zip, std::size_t at, std::size_t packed, std::uint32_t& sum) {
  constexpr std::size_t most = std::size_t{1} << 20;
  if (at + 30 > zip.size()) return false;
  const std::size_t start = at + 30 + load(zip, at + 26, 2) + load(zip, at + 28, 2);
  if (start > zip.size() || packed > zip.size() - start) return false;
  const auto* from = reinterpret_cast<const Bytef*>(zip.data() + start);
  if (load(zip, at + 8, 2) == 0) {
    sum = static_cast<std::uint32_t>(crc32(0, from, static_cast<uInt>(packed)));
    return true;
  }
  std::string plain(most, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  stream.next_in = const_cast<Bytef*>(from);
  stream.avail_in = static_cast<uInt>(packed);
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  sum = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(stream.total_out)));
  return true;
}

/// A file of a known format, in every way that its arrays can be asked for.
void read(std::string_view bytes, const char* suffix) {
  with_file(bytes, suffix, [](const std::string& path) {
    const auto attempt = [](auto&& call) {
      try {
        call();
        return true;
      } catch (const Error& error) {
        // What is told must be fit for a terminal.
        if (printable(error.what()) != error.what()) std::abort();
        return false;
      }
    };
    std::vector<io::Array> arrays;
    const bool listed = attempt([&] { arrays = io::list(path); });
    attempt([&] { io::read_points(path); });
    if (!listed) return;  // nothing else is done with such a file
    for (const io::Array& array : arrays)
      if (!array.name.empty()) attempt([&] { io::read_points(path + ":" + array.name); });
    attempt([&] { io::read_target_labels(path); });
    attempt([&] { io::read_names(path); });
  });
}

}  // namespace

void with_file(std::string_view bytes, const char* suffix,
               const std::function<void(const std::string& path)>& use) {
  static const std::string folder = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  const std::string path = fmt::format("{}/remblai-fuzz-{}{}", folder, ::getpid(), suffix);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("no room for " + path);
  ::close(file);
  try {
    use(path);
  } catch (const Error&) {
  }
  ::unlink(path.c_str());
}

std::string with_checksums(std::string_view archive) {
  std::string zip(archive);
  // Entries of the table of contents; each says where its member begins.
  for (std::size_t at = zip.find("PK\1\2"); at != std::string::npos && at + 46 <= zip.size();
       at = zip.find("PK\1\2", at + 4)) {
    const std::size_t member = load(zip, at + 42, 4);
    std::uint32_t sum = 0;
    if (!checksum(zip, member, load(zip, at + 20, 4), sum)) continue;
    std::memcpy(zip.data() + at + 16, &sum, 4);
    std::memcpy(zip.data() + member + 14, &sum, 4);
  }
  return zip;
}

void npy(std::string_view bytes) {
  read(bytes, ".npy");
}
void npz(std::string_view bytes) {
  read(with_checksums(bytes), ".npz");
}
void csv(std::string_view bytes) {
  read(bytes, bytes.starts_with('\t') ? ".tsv" : ".csv");
}
void idx(std::string_view bytes) {
  read(bytes, ".idx");
}
// The target of version 5 leaves HDF5, which is slow, to the other one.
void mat5(std::string_view bytes) {
  if (bytes.find("\x89HDF") == std::string_view::npos) read(bytes, ".mat");
}
void mat73(std::string_view bytes) {
  if (bytes.find("\x89HDF") != std::string_view::npos) read(bytes, ".mat");
}

}  // namespace remblai::fuzz
