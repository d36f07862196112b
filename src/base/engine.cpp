// Which engine a thread has.
#include "base/engine.h"

#include <cassert>
#include <utility>

namespace remblai::linalg {
namespace {

thread_local Engine* engine_of_thread = nullptr;

}  // namespace

OnEngine::OnEngine(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {
  if (engine_of_thread) engine_.reset();
  if (engine_) engine_of_thread = engine_.get();
}

OnEngine::~OnEngine() {
  if (engine_) engine_of_thread = nullptr;
}

OffEngine::OffEngine() : before_(std::exchange(engine_of_thread, nullptr)) {}

OffEngine::~OffEngine() {
  engine_of_thread = before_;
}

Engine* current_engine() {
  return engine_of_thread;
}

FourthRoot inverse_fourth_root(const Matrix& m, double least) {
  assert(m.rows() == m.cols());
  FourthRoot result;
  Engine* engine = current_engine();
  const auto order = static_cast<double>(m.rows());
  // An eigen-decomposition takes about as long as 16 products.
  if (!engine || !(least > 0) || !engine->worth(16 * order * order * order, 2 * order * order))
    return result;
  result.inverse.resize(m.rows(), m.rows());
  result.ok = engine->inverse_fourth_root(m.rows(), m.data(), least, result.inverse.data(),
                                          result.trace_of_root);
  return result;
}

}  // namespace remblai::linalg
