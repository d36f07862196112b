// Signals and callbacks, with the interpreter's lock held.
#include "watch.h"

#include <limits>

namespace remblai::python {
namespace {

nb::dict to_dict(const Progress& progress) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  nb::dict all;
  all["step"] = progress.step;
  all["steps"] = progress.steps;
  all["inner_iterations"] = progress.inner_iterations;
  all["marginal_error"] = progress.marginal_error;
  all["seconds"] = progress.seconds;
  all["complete"] = progress.record != nullptr;
  all["objective"] = progress.record ? progress.record->objective : nan;
  all["distance_change"] = progress.record ? progress.record->distance_change : nan;
  return all;
}

}  // namespace

bool Watch::operator()(const Progress& progress) {
  nb::gil_scoped_acquire lock;
  try {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (callback_.is_none()) return true;
    const nb::object answer = callback_(to_dict(progress));
    return answer.is_none() || static_cast<bool>(nb::bool_(answer));
  } catch (const nb::python_error& raised) {
    error_ = nb::borrow(raised.value());
    return false;
  }
}

void Watch::finish() {
  if (!error_.is_none() || PyErr_CheckSignals() == 0) return;
  error_ = nb::borrow(nb::python_error().value());
}

}  // namespace remblai::python
