// One fit: a session of its own.
#include "remblai/fit.h"

#include "fit/session.h"

namespace remblai {

Model fit(const Problem& problem, const Options& options, const Callback& callback,
          const Model* start, const Checkpoint& checkpoint) {
  const Options whole = options.resolved();
  Session session(problem, whole, span_of(whole));
  session.fit(whole, {.callback = callback, .start = start, .checkpoint = checkpoint});
  return session.released_model();
}

}  // namespace remblai
