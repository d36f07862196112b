// Looks after a long computation on behalf of the interpreter: Ctrl-C, progress and errors of the
// caller's own callback. The computation is stopped, and what it reached is kept.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "remblai/fit.h"

namespace remblai::python {

namespace nb = nanobind;

class Watch {
 public:
  /// `callback` is None or a callable that takes a dict and returns False (not None) to stop.
  explicit Watch(nb::object callback) : callback_(std::move(callback)) {}

  /// False when the computation should stop. Takes the interpreter's lock.
  bool operator()(const Progress& progress);

  /// Looks for Ctrl-C after the computation, which may have asked for the last time long before its
  /// end. It is an error then like one in between, so that nothing that was reached is lost.
  void finish();

  /// What was raised meanwhile (KeyboardInterrupt, or an exception of the callback), or None.
  nb::object error() const { return error_; }

 private:
  nb::object callback_;
  nb::object error_ = nb::none();
};

}  // namespace remblai::python
