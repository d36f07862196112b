// One transport problem, given as a cost matrix.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "options.h"
#include "remblai/error.h"
#include "remblai/exact.h"
#include "remblai/threads.h"
#include "remblai/transport.h"
#include "watch.h"

namespace remblai::python {
namespace {

using namespace nb::literals;

nb::dict solve_transport(const MatrixIn& cost, const VectorIn& p, const VectorIn& q, double lambda,
                         double tolerance, int max_passes, const std::string& solver,
                         const std::string& precision, int threads, const std::string& device,
                         double relax_source, double relax_target,
                         const std::optional<VectorIn>& start) {
  Resources{.threads = threads}.validate();
  if (max_passes < 1)
    throw Error(
        {.field = "max_passes", .value = std::to_string(max_passes), .problem = "is less than 1"});
  TransportOptions options;
  options.tolerance = tolerance;
  options.max_passes = max_passes;
  options.solver = solver_from(solver);
  options.relax_source = relax_source;
  options.relax_target = relax_target;
  const Resources resources{.threads = thread_count(threads),
                            .precision = precision_from(precision),
                            .device = device_from(device)};
  Watch watch{nb::none()};
  auto last = std::chrono::steady_clock::now();
  std::vector<double> errors;  // one for each time that the error was found anew
  options.keep_going = [&](int, double error) {
    if (errors.empty() || errors.back() != error) errors.push_back(error);
    const auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::milliseconds(100)) return true;
    last = now;
    return watch({});
  };
  TransportPlan out = unlocked([&] {
    return transport(read(cost), read(p), read(q), lambda, options, resources,
                     value_or_empty<Vector>(start));
  });
  const TransportResult& result = out.result;
  nb::dict all;
  all["plan"] = give(std::move(out.plan));
  all["f"] = give(std::move(out.f));
  all["g"] = give(std::move(out.g));
  all["cost"] = result.cost;
  all["gap"] = result.gap;
  all["objective"] = result.objective(lambda);
  all["source_error"] = result.source_error;
  all["target_error"] = result.target_error;
  errors.push_back(std::max(result.source_error, result.target_error));
  all["errors"] = errors;
  all["passes"] = result.passes;
  all["iterations"] = result.by_kind.fused;
  all["converged"] = result.converged;
  all["error"] = watch.error();
  return all;
}

nb::dict solve_exact(const MatrixIn& cost, const VectorIn& p, const VectorIn& q) {
  ExactPlan exact = unlocked([&] { return exact_transport(read(cost), read(p), read(q)); });
  Matrix plan = Matrix::Zero(static_cast<Index>(cost.shape(0)), static_cast<Index>(cost.shape(1)));
  for (const Mass& mass : exact.masses) plan(mass.source, mass.target) = mass.amount;
  nb::dict all;
  all["plan"] = give(std::move(plan));
  all["f"] = give(std::move(exact.f));
  all["g"] = give(std::move(exact.g));
  all["cost"] = exact.cost;
  all["gap"] = exact.gap;
  return all;
}

}  // namespace

void bind_transport(nb::module_& core) {
  const TransportOptions defaults;
  const Resources resources;
  const auto text = [](auto choice) { return std::string(name(choice)); };
  core.def("transport", solve_transport, "cost"_a, "p"_a, "q"_a, "lambda_"_a, nb::kw_only(),
           "tolerance"_a = defaults.tolerance, "max_passes"_a = defaults.max_passes,
           "solver"_a = text(defaults.solver), "precision"_a = text(resources.precision),
           "threads"_a = resources.threads, "device"_a = text(resources.device),
           "relax_source"_a = defaults.relax_source, "relax_target"_a = defaults.relax_target,
           "start"_a = nb::none(), "entropic transport for one cost matrix");
  core.def("exact", solve_exact, "cost"_a, "p"_a, "q"_a, "exact transport for one cost matrix");
}

}  // namespace remblai::python
