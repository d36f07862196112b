// Readers of files, and files for them: in memory, under a name with the right ending.
#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
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
  // One stream for all runs, since its memory takes longer to get than most members to unpack.
  static z_stream stream;
  static const bool ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK;
  static Bytef plain[std::size_t{1} << 14];
  if (!ready || inflateReset(&stream) != Z_OK) return false;
  stream.next_in = const_cast<Bytef*>(from);
  stream.avail_in = static_cast<uInt>(packed);
  uLong running = crc32(0, nullptr, 0);
  int code = Z_OK;
  while (code == Z_OK && stream.total_out < most) {
    stream.next_out = plain;
    stream.avail_out = sizeof plain;
    code = inflate(&stream, Z_NO_FLUSH);
    running = crc32(running, plain, static_cast<uInt>(sizeof plain - stream.avail_out));
  }
  sum = static_cast<std::uint32_t>(running);
  return true;
}

/// A file in memory that stays open: to make one takes longer than to read most.
struct Scratch {
  explicit Scratch(const char* suffix)
      : path(fmt::format("{}/remblai-fuzz-{}{}",
                         ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", ::getpid(),
                         suffix)),
        owner(::getpid()),
        descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}
  ~Scratch() {
    ::close(descriptor);
    if (::getpid() == owner) ::unlink(path.c_str());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void hold(std::string_view bytes) const {
    const auto size = static_cast<off_t>(bytes.size());
    if (::ftruncate(descriptor, size) != 0 ||
        ::pwrite(descriptor, bytes.data(), bytes.size(), 0) != size)
      throw std::runtime_error("no room for " + path);
  }

  std::string path;
  pid_t owner;
  int descriptor;
};

/// A file of a known format, in one of the ways that its arrays can be asked for.
void read(std::string_view bytes, const char* suffix) {
  const std::size_t choice = std::hash<std::string_view>()(bytes);
  with_file(bytes, suffix, [&](const std::string& path) {
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
    // What cannot be listed is refused in the same way by all that comes after.
    if (!attempt([&] { arrays = io::list(path); })) return;
    const auto named = [&](std::size_t number) {
      const std::string& name = arrays[number % arrays.size()].name;
      return name.empty() ? path : path + ":" + name;
    };
    // One way for each input, by its bytes: many inputs find more than many ways of one.
    switch (arrays.empty() ? 0 : choice % 4) {
      case 0:
        attempt([&] { io::read_points(path); });
        break;
      case 1:
        attempt([&] { io::read_points(named(choice / 4)); });
        break;
      case 2:
        attempt([&] { io::read_target_labels(choice / 4 % 2 == 0 ? path : named(choice / 8)); });
        break;
      default:
        attempt([&] { io::read_names(path); });
        for (const io::Refused& refused : io::list_refused(path))
          if (printable(refused.reason) != refused.reason) std::abort();
    }
  });
}

}  // namespace

void with_file(std::string_view bytes, const char* suffix,
               const std::function<void(const std::string& path)>& use) {
  static std::map<std::string, Scratch, std::less<>> files;
  auto found = files.find(suffix);
  if (found == files.end()) found = files.try_emplace(suffix, suffix).first;
  found->second.hold(bytes);
  try {
    use(found->second.path);
  } catch (const Error&) {
  }
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
// HDF5 goes in circles on some damaged files. The guard ends that after seconds, which a test of it
// looks at; here its child processes have a twentieth of a second, and most take a
// thousandth.
void mat73(std::string_view bytes) {
  static const bool ready = [] {
    const auto limit = [] {
      const itimerval patience{{0, 0}, {0, 50'000}};
      ::setitimer(ITIMER_PROF, &patience, nullptr);
      std::signal(SIGPROF, SIG_DFL);
    };
    return ::pthread_atfork(nullptr, nullptr, limit) == 0 &&
           H5open() >= 0;  // or every child would begin with that
  }();
  if (!ready) std::abort();
  if (bytes.find("\x89HDF") != std::string_view::npos) read(bytes, ".mat");
}

}  // namespace remblai::fuzz
