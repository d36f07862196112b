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
#include "remblai/devices.h"
#include "remblai/error.h"
#include "remblai/exact.h"
#include "remblai/threads.h"
#include "remblai/transport.h"
#include "watch.h"

namespace remblai::python {
namespace {

using namespace nb::literals;

// What both functions below take beside costs and weights.
struct Wishes {
  double lambda, tolerance;
  int max_passes;
  std::string solver, precision;
  int threads;
  std::string device;
  double relax_source, relax_target;
  std::optional<VectorIn> start;
};

// `solve` gets options, resources and potentials to start from; `give_plan` makes of its result
// what Python gets as the plan.
template <class Solve, class GivePlan>
nb::dict solved(const Wishes& wishes, Solve&& solve, GivePlan&& give_plan) {
  Resources{.threads = wishes.threads}.validate();
  if (wishes.max_passes < 1)
    throw Error({.field = "max_passes",
                 .value = std::to_string(wishes.max_passes),
                 .problem = "is less than 1"});
  TransportOptions options;
  options.tolerance = wishes.tolerance;
  options.max_passes = wishes.max_passes;
  options.solver = solver_from(wishes.solver);
  options.relax_source = wishes.relax_source;
  options.relax_target = wishes.relax_target;
  const Resources resources{.threads = thread_count(wishes.threads),
                            .precision = precision_from(wishes.precision),
                            .device = device_from(wishes.device)};
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
  auto out =
      unlocked([&] { return solve(options, resources, value_or_empty<Vector>(wishes.start)); });
  const TransportResult& result = out.result;
  nb::dict all;
  all["plan"] = give_plan(std::move(out.plan));
  all["f"] = give(std::move(out.f));
  all["g"] = give(std::move(out.g));
  all["cost"] = result.cost;
  all["gap"] = result.gap;
  all["objective"] = result.objective(wishes.lambda);
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

nb::dict solve_transport(const MatrixIn& cost, const VectorIn& p, const VectorIn& q,
                         const Wishes& wishes) {
  return solved(
      wishes,
      [&](const auto& options, const auto& resources, const Vector& start) {
        return transport(read(cost), read(p), read(q), wishes.lambda, options, resources, start);
      },
      [](Matrix plan) { return give(std::move(plan)); });
}

using GpuMatrixIn = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cuda>;

// The plan stays there where it is asked to.
nb::dict solve_on_gpu(const GpuMatrixIn& cost, const VectorIn& p, const VectorIn& q,
                      const Wishes& wishes, bool stay) {
  const bool in_float = cost.dtype() == nb::dtype<float>();
  if (!in_float && cost.dtype() != nb::dtype<double>())
    throw nb::type_error("costs on a GPU must be float64 or float32");
  const MatrixOnGpu there{cost.data(),
                          in_float,
                          static_cast<Index>(cost.shape(0)),
                          static_cast<Index>(cost.shape(1)),
                          cost.device_id(),
                          nullptr};
  return solved(
      wishes,
      [&](const auto& options, const auto& resources, const Vector& start) {
        return transport(there, read(p), read(q), wishes.lambda, options, resources, start);
      },
      [&](MatrixOnGpu plan) -> nb::object {
        if (stay) return nb::cast(std::move(plan));
        return nb::cast(give(unlocked([&] { return fetched(plan); })));
      });
}

using GpuMatrixOut = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cuda>;

GpuMatrixOut as_dlpack(nb::handle self) {
  const auto& matrix = nb::cast<const MatrixOnGpu&>(self);
  const auto rows = static_cast<std::size_t>(matrix.rows);
  const auto columns = static_cast<std::size_t>(matrix.columns);
  return GpuMatrixOut(const_cast<void*>(matrix.data), {rows, columns}, self, {},
                      nb::dtype<double>(), nb::device::cuda::value, matrix.gpu);
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
  nb::class_<MatrixOnGpu>(core, "MatrixOnGpu",
                          "A matrix in the memory of a GPU, of float64. torch.from_dlpack, "
                          "cupy.from_dlpack and their like take it as it is, and numpy.asarray "
                          "makes a copy for the processor.")
      .def_prop_ro("shape",
                   [](const MatrixOnGpu& self) { return nb::make_tuple(self.rows, self.columns); })
      .def(
          "__dlpack_device__",
          [](const MatrixOnGpu& self) { return nb::make_tuple(nb::device::cuda::value, self.gpu); })
      .def(
          "__dlpack__", [](nb::handle self, const nb::kwargs&) { return as_dlpack(self); },
          nb::sig("def __dlpack__(self, **wishes: object) -> object"))
      .def(
          "__array__",
          [](const MatrixOnGpu& self, const nb::args&, const nb::kwargs&) {
            return give(unlocked([&] { return fetched(self); }));
          },
          nb::sig(
              "def __array__(self, *wishes: object, **named: object) -> NDArray[numpy.float64]"));

  const TransportOptions defaults;
  const Resources resources;
  const auto text = [](auto choice) { return std::string(name(choice)); };
  const auto with_wishes = [&](const char* name, auto solve, const char* help, auto... more) {
    core.def(name, solve, "cost"_a, "p"_a, "q"_a, "lambda_"_a, nb::kw_only(),
             "tolerance"_a = defaults.tolerance, "max_passes"_a = defaults.max_passes,
             "solver"_a = text(defaults.solver), "precision"_a = text(resources.precision),
             "threads"_a = resources.threads, "device"_a = text(resources.device),
             "relax_source"_a = defaults.relax_source, "relax_target"_a = defaults.relax_target,
             "start"_a = nb::none(), more..., help);
  };
  with_wishes(
      "transport",
      [](const MatrixIn& cost, const VectorIn& p, const VectorIn& q, double lambda,
         double tolerance, int max_passes, const std::string& solver, const std::string& precision,
         int threads, const std::string& device, double relax_source, double relax_target,
         const std::optional<VectorIn>& start) {
        return solve_transport(cost, p, q,
                               {lambda, tolerance, max_passes, solver, precision, threads, device,
                                relax_source, relax_target, start});
      },
      "entropic transport for one cost matrix");
  with_wishes(
      "transport_on_gpu",
      [](const GpuMatrixIn& cost, const VectorIn& p, const VectorIn& q, double lambda,
         double tolerance, int max_passes, const std::string& solver, const std::string& precision,
         int threads, const std::string& device, double relax_source, double relax_target,
         const std::optional<VectorIn>& start, bool stay) {
        return solve_on_gpu(cost, p, q,
                            {lambda, tolerance, max_passes, solver, precision, threads, device,
                             relax_source, relax_target, start},
                            stay);
      },
      "the same for costs on a GPU; the plan is a MatrixOnGpu where it is to stay", "stay"_a);
  core.def("exact", solve_exact, "cost"_a, "p"_a, "q"_a, "exact transport for one cost matrix");
}

}  // namespace remblai::python
