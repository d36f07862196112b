// The program remblai: does what the command line asks for and turns failures into exit codes.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <new>
#include <optional>

#include "command_line.h"
#include "ranks.h"
#include "terminal.h"
#include "words.h"

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#endif

namespace remblai::cli {
namespace {

int fail(const std::string& message) {
  const auto say = [&] {
    const bool colour = colours(stderr);
    tell(stderr, "{}error:{} {}\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "", message);
  };
  if (tells_failure(say, Exit::bad_input)) say();
  return Exit::bad_input;
}

/// A limit on addresses (ulimit -v), or none.
std::optional<double> limit_on_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

/// Ends the program where a limit on addresses leaves no room for the buffers of OpenBLAS: each of
/// its threads asks for one until it gets it, and an exit would wait for the threads.
void require_addresses() {
  constexpr double buffer_and_stack = 136 << 20, libraries = 80 << 20;
  const auto limit = limit_on_addresses();
  if (!limit) return;
  std::error_code error;
  const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task", error),
                                     std::filesystem::directory_iterator());
  if (*limit >= libraries + static_cast<double>(threads) * buffer_and_stack) return;
  fail(
      "the limit on addresses (ulimit -v) leaves no room for the buffers of BLAS, 128 MiB for each "
      "of its threads; raise it, or set OPENBLAS_NUM_THREADS=1 and give --threads 1");
  _exit(Exit::bad_input);
}

/// Matrices of some MB come and go all the time: their pages stay with the program, in one pool for
/// all threads, where the system would take them back and clear them anew each time. The first of
/// them are huge where the system lends such on request: a small problem has a tenth of the faults.
void keep_pages() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_ARENA_MAX, 1);
  if (limit_on_addresses()) return;  // the pool would take those that BLAS needs
  constexpr std::uintptr_t huge = 2 << 20;
  constexpr int pool = 256 << 20;  // addresses; memory comes with its use
  const auto end_of_pool = [] { return reinterpret_cast<std::uintptr_t>(sbrk(0)); };
  const std::uintptr_t begin = (end_of_pool() + huge - 1) / huge * huge;
  mallopt(M_TOP_PAD, pool);
  void* volatile piece = std::malloc(huge);  // makes the pool grow
  std::free(piece);
  if (const std::uintptr_t end = end_of_pool(); end > begin)
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace
}  // namespace remblai::cli

int main(int argc, char** argv) {
  using namespace remblai::cli;
  prepare_descriptors();
  require_addresses();
  keep_pages();
  try {
    const Words words(argv + 1, argv + argc);
    if (!words.empty() && works_on_ranks(words[0])) join_ranks();
    const int code = parse_command_line(words)();
    const bool lost = !flush_output(), unread = lost && errno == EPIPE;
    if (!any_rank(lost)) return code;
    // Whoever reads through a pipe may stop at any line.
    return any_rank(unread) ? +Exit::bad_input : fail("standard output cannot be written to");
  } catch (const std::bad_alloc&) {
    return fail("not enough memory for points this many and this large; use fewer of them");
  } catch (const std::exception& error) {
    return fail(words_of(error));
  }
}
