// One fit: a session of its own.
#include "remblai/fit.h"

#include "fit/session.h"

namespace remblai {

Model fit(const Problem& problem, const Options& options, const Callback& callback,
          const Model* start) {
  Session session(problem, options, span_of(options));
  session.fit(options, {.callback = callback, .start = start});
  return session.model();
}

}  // namespace remblai
