// A team of threads that lives as long as the process and takes pieces of work one by one. A loop
// ends when its pieces are done, whether or not every member of the team woke up for it. On a busy
// machine nobody therefore waits for a thread that has not been given a core.
#include "base/parallel.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>

#include "base/engine.h"

namespace remblai {
namespace {

// How often a thread looks for a change before it goes to sleep. This takes some fifty
// microseconds, about as long as a pass over a small matrix.
constexpr int patience = 4000;

// The lower half of a ticket. No loop has so many pieces, so a ticket with this number is closed.
constexpr std::uint64_t last_piece = 0xffffffff;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns when `value` is no longer `old`.
template <class T>
void wait_for_change(const std::atomic<T>& value, T old) {
  for (int look = 0; look < patience; ++look) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

class Team {
 public:
  void run(Index pieces, int threads, const std::function<void(Index)>& body) {
    grow(threads - 1);
    const std::uint64_t round = ((ticket_ >> 32) + 1) & last_piece;
    // Close the previous round first: a late worker that still holds its ticket would otherwise run
    // a piece that does not exist.
    ticket_ = round << 32 | last_piece;
    body_ = &body;
    pieces_ = static_cast<std::uint64_t>(pieces);
    helpers_ = threads - 1;
    done_ = 0;
    failed_ = false;
    failure_ = nullptr;
    ticket_ = round << 32;  // The round is open: from here on the team may take pieces.
    round_ = round;
    round_.notify_all();
    work(round);
    for (std::uint64_t done = done_; done < pieces_; done = done_) wait_for_change(done_, done);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // Starts threads until the team has so many members. When the system refuses one, the loop runs
  // with the members that there are.
  void grow(int members) try {
    for (; members_ < members; ++members_)
      std::thread([this, member = members_] { serve(member); }).detach();
  } catch (const std::system_error&) {
  }

  // The life of a member: it waits for a round and works in it if the round asks for so many.
  void serve(int member) {
    for (std::uint64_t seen = 0;;) {
      wait_for_change(round_, seen);
      seen = round_;
      if (member < helpers_) work(seen);
    }
  }

  // Takes pieces of this round until none is left. A ticket holds the number of the round in its
  // upper half and the next piece in its lower half. A worker that has taken a piece keeps the
  // round from ending until that piece is done, so the body exists as long as it is called.
  void work(std::uint64_t round) {
    std::uint64_t ticket = ticket_;
    while (ticket >> 32 == round && (ticket & last_piece) < pieces_) {
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1)) continue;
      try {
        (*body_)(static_cast<Index>(ticket & last_piece));
      } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
      }
      if (++done_ == pieces_) done_.notify_all();
      ticket = ticket_;
    }
  }

  std::atomic<std::uint64_t> ticket_ = 0, round_ = 0, pieces_ = 0, done_ = 0;
  std::atomic<int> helpers_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;  // the first of this round
  std::atomic<const std::function<void(Index)>*> body_ = nullptr;
  int members_ = 0;
};

}  // namespace

void run_pieces(Index pieces, int threads, const std::function<void(Index)>& body) {
  // The team is never destroyed, because its members sleep until the process ends and a forked
  // child has none of them.
  static Team& team = *new Team;
  static std::atomic_flag busy;
  const linalg::OffEngine processor;
  if (threads <= 1 || pieces <= 1 || busy.test_and_set()) {
    for (Index k = 0; k < pieces; ++k) body(k);
    return;
  }
  const struct Release {
    ~Release() { busy.clear(); }
  } release;
  team.run(pieces, threads, body);
}

}  // namespace remblai
