// The one exception of the library: the caller gave something that cannot be used.
// Numerical trouble is never thrown; it is a Status in the result (model.h).
#pragma once

#include <stdexcept>
#include <string>

namespace remblai {

/// The message names the field, its value and the fix.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace remblai
