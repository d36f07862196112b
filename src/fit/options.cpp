// The range of every option of a fit.
#include "remblai/options.h"

#include <fmt/format.h>

#include <algorithm>
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

// An option that has no effect is a mistake of the caller's.
void require_no_class_options(const ClassOptions& classes) {
  const ClassOptions defaults;
  for_each_option(classes, [&](std::string_view option, const auto& value, const char*) {
    for_each_option(defaults, [&](std::string_view name, const auto& usual, const char*) {
      using Value = std::remove_cvref_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::remove_cvref_t<decltype(usual)>>) {
        bool same = true;
        if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>)
          same = value == usual;
        else
          same = value.kind() == usual.kind();
        if (option == name && !same)
          throw Error({.field = std::string(option),
                       .problem = "has no meaning for the method paper",
                       .remedy = "leave it out, or give the $method class-aware"});
      }
    });
  });
}

}  // namespace

void Resources::validate() const {
  require(threads >= 0 && threads <= 1024, "threads", threads, "between 0 and 1024");
  require(not_negative(memory), "memory", memory, "a finite number, 0 or more");
}

void ClassOptions::validate() const {
  require(not_negative(opinion), "opinion", opinion, "a finite number, 0 or more");
  require(smoothing >= 1e-6 && std::isfinite(smoothing), "smoothing", smoothing,
          "a finite number, 1e-6 or more");
  require(kernel_width >= 1e-3 && kernel_width <= 1e3, "kernel-width", kernel_width,
          "between 0.001 and 1000");
  require(not_negative(share_prior), "share-prior", share_prior, "a finite number, 0 or more");
  require(landmarks >= 10, "landmarks", landmarks, "10 or more");
}

// The class-aware method knows from its classifier what the paper's has to find out by many steps.
Options Options::resolved() const {
  Options whole = *this;
  const bool paper = method == Method::paper;
  const auto resolve = [paper](double& value, double of_paper, double of_class_aware) {
    if (value == by_method) value = paper ? of_paper : of_class_aware;
  };
  if (prior == PriorChoice::automatic)
    whole.prior = paper ? PriorChoice::identity : PriorChoice::spread;
  resolve(whole.prior_ridge, 1e-3, 0.01);
  resolve(whole.lambda, 0.2, 0.1);
  resolve(whole.ridge, 0.1, 3);
  if (steps == steps_by_method) whole.steps = paper ? 100 : 3;
  return whole;
}

void Options::validate() const {
  resolved().validate_resolved();
}

void Options::validate_resolved() const {
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
  classes.validate();
  resources.validate();
  if (method == Method::paper) require_no_class_options(classes);
  if (method == Method::class_aware && (relax_source > 0 || relax_target > 0))
    throw Error({.field = relax_source > 0 ? "relax-source" : "relax-target",
                 .value = fmt::format("{}", relax_source > 0 ? relax_source : relax_target),
                 .problem = "does not go with the class-aware method, whose row sums follow the "
                            "class shares",
                 .remedy = "give the $method paper, or leave the marginals exact"});
  require(seed >= 0, "seed", seed, "0 or more");
}

}  // namespace remblai
