// The range of every option of a fit.
#include "remblai/options.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "remblai/error.h"

namespace remblai {
namespace {

void require(bool ok, std::string_view name, double value, std::string_view range) {
  if (!ok)
    throw Error({.field = std::string(name),
                 .value = fmt::format("{}", value),
                 .problem = "is out of range",
                 .remedy = fmt::format("it must be {}", range)});
}

bool not_negative(double x) {
  return x >= 0 && std::isfinite(x);
}

}  // namespace

void Resources::validate() const {
  require(threads >= 0 && threads <= 1024, "threads", threads, "between 0 and 1024");
  require(not_negative(memory), "memory", memory, "a finite number, 0 or more");
}

void Options::validate() const {
  require(not_negative(prior_ridge), "prior-ridge", prior_ridge, "a finite number, 0 or more");
  require(not_negative(lambda), "lambda", lambda,
          "a finite number, 0 or more (0: exact transport)");
  for (const auto& [name, tau] :
       {std::pair("relax-source", relax_source), std::pair("relax-target", relax_target)}) {
    require(not_negative(tau), name, tau, "a finite number, 0 or more (0: exact sums)");
    if (tau > 0 && lambda == 0)
      throw Error({.field = name,
                   .value = fmt::format("{}", tau),
                   .problem = "needs an entropic plan",
                   .remedy = "give a positive $lambda"});
  }
  require(not_negative(ridge), "ridge", ridge, "a finite number, 0 or more");
  require(geodesic > 0 && geodesic < 1, "geodesic", geodesic, "between 0 and 1, both excluded");
  require(steps >= 1, "steps", steps, "1 or more");
  require(tolerance > 0 && tolerance < 1, "tolerance", tolerance, "between 0 and 1, both excluded");
  require(not_negative(outer_tolerance), "outer-tolerance", outer_tolerance,
          "a finite number, 0 or more");
  resources.validate();
  require(seed >= 0, "seed", seed, "0 or more");
}

}  // namespace remblai
