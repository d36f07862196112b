// Child processes with limits. The child writes its reply into a pipe and ends without a trace:
// nothing of this process is flushed, closed or destroyed there.
#include "io/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "io/formats.h"
#include "remblai/error.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace remblai::io {
namespace {

constexpr char result_mark = 'r', error_mark = 'e', memory_mark = 'm';
constexpr std::uint64_t free_memory = std::uint64_t{64} << 20;

/// Seconds of a processor: a slow one unpacks ten times as much in them.
rlim_t processor_seconds(std::uint64_t file_size) {
  return static_cast<rlim_t>(5 + file_size / 1'000'000);
}

std::uint64_t address_space() {
  unsigned long long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// The hard limit stays, so that more can be allowed later. What the heap holds for later is not
/// counted as present.
void limit_memory(std::uint64_t beyond_present) {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  const std::uint64_t present = address_space();
  rlimit limit{};
  if (present == 0 || ::getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(present + beyond_present, limit.rlim_max);
  ::setrlimit(RLIMIT_AS, &limit);
}

bool write_reply(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(to, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

/// Whatever is thrown here must not reach the handlers of the caller, which would go on twice.
[[noreturn]] void be_child(int to, const Limits& limits,
                           const std::function<std::string()>& work) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGHUP, SIGXCPU})
    std::signal(fatal, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the parent, which ends this process with itself
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const rlim_t seconds = processor_seconds(limits.file_size);
  const rlimit time{seconds, seconds + 1};
  ::setrlimit(RLIMIT_CPU, &time);
  limit_memory(free_memory + 16 * limits.file_size);
  // The C library reports a corrupted heap there.
  if (const int null = ::open("/dev/null", O_WRONLY); null >= 0) ::dup2(null, STDERR_FILENO);
  std::string reply;
  char mark = result_mark;
  try {
    reply = work();
  } catch (const Error& error) {
    mark = error_mark;
    Packed packed;
    const Message& message = error.message();
    for (const std::string& part : {message.field, message.value, message.problem, message.remedy})
      packed.add(part);
    packed.add(static_cast<std::uint64_t>(message.code));
    reply = packed.take();
  } catch (const std::bad_alloc&) {
    mark = memory_mark;
  }
  ::_exit(write_reply(to, {&mark, 1}) && write_reply(to, reply) ? 0 : 1);
}

/// Everything that the child writes, or less when it takes too long or writes too much.
std::string read_reply(int from, const Limits& limits, bool& whole) {
  using Clock = std::chrono::steady_clock;
  // Other processes may have the processors; a child that waits for nothing is found all the same.
  const auto end = Clock::now() + std::chrono::seconds(20 * processor_seconds(limits.file_size));
  std::string reply;
  std::size_t size = 0;
  whole = false;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting{.fd = from, .events = POLLIN, .revents = 0};
    if (left.count() <= 0) return {};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::min<long long>(left.count(), 1000)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    constexpr std::size_t least = std::size_t{1} << 16;
    if (reply.size() - size < least) reply.resize(std::max(2 * reply.size(), 2 * least));
    const ssize_t got = ::read(from, reply.data() + size, reply.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > limits.most_reply + 1) return {};
  }
  whole = true;
  reply.resize(size);
  return reply;
}

std::string fate(int status) {
  if (!WIFSIGNALED(status)) return "reading it failed";
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU || signal == SIGKILL) return "reading it takes too long";
  return fmt::format("reading it crashed (signal {})", signal);
}

}  // namespace

void Packed::add(std::uint64_t value) {
  std::memcpy(extend(sizeof value), &value, sizeof value);
}

void Packed::add(std::string_view text) {
  add(std::uint64_t{text.size()});
  bytes_ += text;
}

void Packed::add(const std::vector<Index>& values) {
  add(std::uint64_t{values.size()});
  for (const Index value : values) add(static_cast<std::uint64_t>(value));
}

char* Packed::extend(std::size_t bytes) {
  const std::size_t before = bytes_.size();
  bytes_.resize(before + bytes);
  return bytes_.data() + before;
}

std::string_view Unpacked::take(std::uint64_t bytes) {
  if (bytes > bytes_.size()) damaged(label_, "reading it failed");
  const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(bytes));
  bytes_.remove_prefix(taken.size());
  return taken;
}

std::uint64_t Unpacked::number() {
  std::uint64_t value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string Unpacked::text() {
  return std::string(take(number()));
}

std::vector<Index> Unpacked::numbers() {
  const std::uint64_t count = number();
  if (count > bytes_.size() / sizeof(std::uint64_t)) damaged(label_, "reading it failed");
  std::vector<Index> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(static_cast<Index>(number()));
  return values;
}

void allow_memory(std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur + bytes, limit.rlim_max);
  ::setrlimit(RLIMIT_AS, &limit);
}

std::string in_child(const std::string& label, const Limits& limits,
                     const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) cannot_read(label, std::strerror(errno), errno);
  const pid_t child = ::fork();
  if (child < 0) {
    const int code = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    cannot_read(label, std::strerror(code), code);
  }
  if (child == 0) be_child(ends[1], limits, work);
  ::close(ends[1]);
  bool whole = false, no_memory = false;
  std::string reply;
  try {
    reply = read_reply(ends[0], limits, whole);
  } catch (const std::bad_alloc&) {
    whole = false;
    no_memory = true;
  }
  ::close(ends[0]);
  if (!whole) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (no_memory) throw std::bad_alloc();
  const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !reply.empty();
  if (!whole || !ended) damaged(label, fate(status));
  const char mark = reply[0];
  if (mark == memory_mark) damaged(label, "reading it takes more memory than its size allows");
  if (mark == result_mark) {
    reply.erase(0, 1);
    return reply;
  }
  Unpacked message(std::string_view(reply).substr(1), label);
  Message told;
  for (std::string* part : {&told.field, &told.value, &told.problem, &told.remedy})
    *part = message.text();
  told.code = static_cast<int>(message.number());
  throw Error(std::move(told));
}

}  // namespace remblai::io
