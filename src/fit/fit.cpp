// One fit: a session of its own.
#include "remblai/fit.h"

#include <utility>

#include "base/linalg.h"
#include "fit/session.h"
#include "remblai/threads.h"

namespace remblai {

Model fit(const Problem& problem, const Options& options, const Callback& callback,
          const Model* start, const Checkpoint& checkpoint) {
  return fit(copy_of(problem, thread_count(options.resources)), options, callback, start,
             checkpoint);
}

Model fit(Problem&& problem, const Options& options, const Callback& callback, const Model* start,
          const Checkpoint& checkpoint) {
  const Options whole = options.resolved();
  Session session(std::move(problem), whole, span_of(whole));
  session.fit(whole,
              {.callback = callback, .start = start, .checkpoint = checkpoint, .only = true});
  return session.released_model();
}

}  // namespace remblai
