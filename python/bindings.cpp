// The module remblai._core: the library as Python sees it. Input checking, conversion of data types
// and everything that needs no C++ is in the package around it.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.h"
#include "options.h"
#include "remblai/remblai.h"
#include "watch.h"

namespace remblai::python {
namespace {

using namespace nb::literals;

template <class Out, class In>
Out value_or_empty(const std::optional<In>& array) {
  return array ? Out(read(*array)) : Out();
}

// Anything that the package takes for points, as the library reads it.
MatrixIn points_from(const nb::object& values) {
  return nb::cast<MatrixIn>(
      nb::module_::import_("remblai._checks").attr("core_points")(values, "points"));
}

// ---- fit

std::tuple<Model, nb::object> fit_model(
    const MatrixIn& source, const MatrixIn& target, const std::optional<LabelsIn>& source_labels,
    const std::optional<LabelsIn>& target_labels, const std::optional<VectorIn>& source_weights,
    const std::optional<VectorIn>& target_weights, const std::optional<MatrixIn>& prior,
    const std::optional<MatrixIn>& metric, const std::vector<std::string>& features,
    const nb::dict& keywords, nb::object callback, const Model* start) {
  const Options options = options_from(keywords);
  Watch watch(std::move(callback));
  Model model = unlocked([&] {
    Problem problem;
    problem.source = {read(source), value_or_empty<Labels>(source_labels),
                      value_or_empty<Vector>(source_weights)};
    problem.target = {read(target), value_or_empty<Labels>(target_labels),
                      value_or_empty<Vector>(target_weights)};
    problem.prior = value_or_empty<Matrix>(prior);
    problem.metric = value_or_empty<Matrix>(metric);
    problem.features = features;
    return fit(
        problem, options, [&](const Progress& progress) { return watch(progress); }, start);
  });
  return {std::move(model), watch.error()};
}

// ---- model

// A read-only view of one array of a model.
template <class Select>
auto array_of(Select select) {
  return [select](nb::handle_t<Model> self) {
    return view(select(nb::cast<const Model&>(self)), self);
  };
}

// The same for one that may be empty: None.
template <class Select>
auto array_or_none(Select select) {
  return [select](nb::handle_t<Model> self) {
    const auto& values = select(nb::cast<const Model&>(self));
    using View = decltype(view(values, self));
    return values.size() ? std::optional<View>(view(values, self)) : std::nullopt;
  };
}

std::optional<nb::tuple> exact_of(const Model& model) {
  if (model.exact.empty()) return std::nullopt;
  const auto count = static_cast<Index>(model.exact.size());
  Labels source(count), target(count);
  Vector amount(count);
  for (Index k = 0; k < count; ++k) {
    const Mass& mass = model.exact[static_cast<std::size_t>(k)];
    source[k] = mass.source;
    target[k] = mass.target;
    amount[k] = mass.amount;
  }
  return nb::make_tuple(give(std::move(source)), give(std::move(target)), give(std::move(amount)));
}

void bind_model(nb::module_& core) {
  nb::class_<Model>(core, "Model",
                    "What fit returns. Arrays are read-only views; their names are those of the "
                    "model file.")
      .def_prop_ro("source_points", array_of([](auto& m) -> auto& { return m.source.points; }),
                   "preprocessed")
      .def_prop_ro("source_labels", array_or_none([](auto& m) -> auto& { return m.source.labels; }))
      .def_prop_ro("source_weights", array_of([](auto& m) -> auto& { return m.source.weights; }))
      .def_prop_ro("target_points", array_of([](auto& m) -> auto& { return m.target.points; }),
                   "preprocessed")
      .def_prop_ro("target_labels", array_or_none([](auto& m) -> auto& { return m.target.labels; }))
      .def_prop_ro("target_weights", array_of([](auto& m) -> auto& { return m.target.weights; }))
      .def_prop_ro("f", array_of([](auto& m) -> auto& { return m.f; }),
                   "potentials of the source, in units of the cost")
      .def_prop_ro("g", array_of([](auto& m) -> auto& { return m.g; }), "potentials of the target")
      .def_prop_ro("metric_origin", array_of([](auto& m) -> auto& { return m.metric.origin; }))
      .def_prop_ro("metric_basis", array_or_none([](auto& m) -> auto& { return m.metric.basis; }),
                   "V, d x r; None: the identity")
      .def_prop_ro("metric_factor", array_or_none([](auto& m) -> auto& { return m.metric.factor; }),
                   "F, r x r; None: the identity")
      .def_prop_ro("scaler_mean", array_or_none([](auto& m) -> auto& { return m.scaler.mean; }))
      .def_prop_ro("scaler_scale", array_or_none([](auto& m) -> auto& { return m.scaler.scale; }))
      .def_prop_ro("metric_length", [](const Model& m) { return m.metric.length; })
      .def_prop_ro("metric_unit", [](const Model& m) { return m.metric.unit; })
      .def_prop_ro("metric_outside", [](const Model& m) { return m.metric.outside; })
      .def_prop_ro(
          "lambda_", [](const Model& m) { return m.lambda; },
          "entropy weight, absolute, in units of the cost")
      .def_prop_ro(
          "ridge", [](const Model& m) { return m.ridge; }, "absolute")
      .def_prop_ro("options", [](const Model& m) { return to_dict(m.options); })
      .def_prop_ro(
          "status", [](const Model& m) { return std::string(name(m.status.outcome)); },
          "converged, iteration-limit, stopped or diverged")
      .def_prop_ro(
          "reason", [](const Model& m) { return with_keywords(m.status.reason); },
          "what happened and what to change, in a sentence")
      .def_prop_ro("exact", exact_of,
                   "(source, target, amount) of the plan when lambda = 0, else None")
      .def(
          "report", [](const Model& m) { return to_json(m, {}); },
          "the report of the command line, as JSON")
      .def(
          "html",
          [](const Model& m, const std::string& title, const std::optional<LabelsIn>& target_labels,
             const std::map<std::int64_t, std::string>& class_names) {
            PageOptions page;
            page.title = title;
            page.target_labels = value_or_empty<Labels>(target_labels);
            page.class_names = class_names;
            return unlocked([&] { return to_html(m, {}, page); });
          },
          "title"_a = PageOptions().title, "target_labels"_a = nb::none(),
          "class_names"_a = std::map<std::int64_t, std::string>(),
          "the page of `remblai report`; labels of the target points score and colour it")
      .def_prop_ro(
          "features", [](const Model& m) { return m.features; },
          "names of the features, or an empty list")
      .def(
          "plan", [](const Model& m) { return give(unlocked([&] { return plan(m); })); },
          "the transport plan, m x n")
      .def(
          "metric",
          [](const Model& m) { return give(unlocked([&] { return m.metric.matrix(); })); },
          "A, d x d, in preprocessed coordinates")
      .def(
          "map",
          [](const Model& m, const nb::object& values) {
            if (values.is_none()) return give(unlocked([&] { return map(m); }));
            const MatrixIn points = points_from(values);
            return give(unlocked([&] { return map(m, read(points)); }));
          },
          "points"_a = nb::none(), "where source points go: those of the model, or the ones given")
      .def(
          "map_back",
          [](const Model& m, const nb::object& values) {
            if (values.is_none()) return give(unlocked([&] { return map_back(m); }));
            const MatrixIn points = points_from(values);
            return give(unlocked([&] { return map_back(m, read(points)); }));
          },
          "points"_a = nb::none(),
          "where target points come from: those of the model, or the ones given")
      .def(
          "predict",
          [](const Model& m, const nb::object& values) {
            const MatrixIn points = points_from(values);
            return give(unlocked([&] { return predict(m, read(points)); }));
          },
          "points"_a, "labels of target points, by nearest neighbours")
      .def(
          "propagate",
          [](const Model& m, const nb::object& values) {
            const MatrixIn points = points_from(values);
            return give(unlocked([&] { return propagate(m, read(points)); }));
          },
          "points"_a, "(classes, shares): labels of target points, through the plan")
      .def(
          "distances",
          [](const Model& m, const nb::object& first, const nb::object& second) {
            const MatrixIn a = points_from(first), b = points_from(second);
            return give(unlocked([&] { return distances(m, read(a), read(b)); }));
          },
          "a"_a, "b"_a, "|a_i - b_j| in the metric of the model, all pairs of rows")
      .def(
          "save",
          [](const Model& m, const std::filesystem::path& path) {
            unlocked([&] { save(m, path.string()); });
          },
          "path"_a, "writes the .npz file that load and the command line read")
      .def("__repr__", [](const Model& m) {
        return fmt::format("<remblai.Model: {} source and {} target points of {} features; {}>",
                           m.source.size(), m.target.size(), m.source.dimension(),
                           with_keywords(m.status.reason));
      });
}

void bind_predictor(nb::module_& core) {
  nb::class_<Predictor>(core, "Predictor", "Model.predict for several sets of points.")
      .def(
          "__init__",
          [](Predictor* self, const Model& model) {
            unlocked([&] { new (self) Predictor(model); });
          },
          nb::keep_alive<1, 2>(), "model"_a)
      .def(
          "__call__",
          [](const Predictor& p, const nb::object& values) {
            const MatrixIn points = points_from(values);
            return give(unlocked([&] { return p(read(points)); }));
          },
          "points"_a, "labels")
      .def(
          "votes",
          [](const Predictor& p, const nb::object& values) {
            const MatrixIn points = points_from(values);
            return give(unlocked([&] { return p.votes(read(points)); }));
          },
          "points"_a, "(classes, shares): the share of each class among the neighbours");
}

// ---- one transport problem

nb::dict solve_transport(const MatrixIn& cost, const VectorIn& p, const VectorIn& q, double lambda,
                         double tolerance, int max_passes, const std::string& solver,
                         const std::string& precision, int threads,
                         const std::optional<VectorIn>& start) {
  if (threads < 0) throw Error(fmt::format("threads: {} is negative; 0 is one a core", threads));
  if (max_passes < 1) throw Error(fmt::format("max_passes: {} is less than 1", max_passes));
  TransportOptions options;
  options.tolerance = tolerance;
  options.max_passes = max_passes;
  options.solver = solver_from(solver);
  const EngineOptions engine{.threads = set_threads(threads),
                             .precision = precision_from(precision)};
  Watch watch{nb::none()};
  auto last = std::chrono::steady_clock::now();
  options.keep_going = [&](int, double) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::milliseconds(100)) return true;
    last = now;
    return watch({});
  };
  TransportPlan out = unlocked([&] {
    return transport(read(cost), read(p), read(q), lambda, options, engine,
                     value_or_empty<Vector>(start));
  });
  const TransportResult& result = out.result;
  nb::dict all;
  all["plan"] = give(std::move(out.plan));
  all["f"] = give(std::move(out.f));
  all["g"] = give(std::move(out.g));
  all["cost"] = result.cost;
  all["entropy"] = result.entropy;
  all["dual"] = result.dual;
  all["gap"] = result.gap;
  all["source_error"] = result.source_error;
  all["target_error"] = result.target_error;
  all["passes"] = result.passes;
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

void bind_transport(nb::module_& core) {
  const TransportOptions defaults;
  const EngineOptions engine;
  const auto text = [](auto choice) { return std::string(name(choice)); };
  core.def("transport", solve_transport, "cost"_a, "p"_a, "q"_a, "lambda_"_a, nb::kw_only(),
           "tolerance"_a = defaults.tolerance, "max_passes"_a = defaults.max_passes,
           "solver"_a = text(defaults.solver), "precision"_a = text(engine.precision),
           "threads"_a = engine.threads, "start"_a = nb::none(),
           "entropic transport for one cost matrix");
  core.def("exact", solve_exact, "cost"_a, "p"_a, "q"_a, "exact transport for one cost matrix");
}

// ---- symmetric positive definite matrices

void bind_spd(nb::module_& core) {
  const auto unary = [&](const char* function, Matrix (*of)(const Matrix&), const char* help) {
    core.def(
        function, [of](const MatrixIn& a) { return give(unlocked([&] { return of(read(a)); })); },
        "a"_a, help);
  };
  unary("spd_sqrt", spd::sqrt, "square root");
  unary("spd_inverse_sqrt", spd::inverse_sqrt, "inverse square root");
  unary("spd_log", spd::log, "logarithm, a symmetric matrix");
  unary("spd_exp", spd::exp, "exponential of a symmetric matrix");
  unary("spd_inverse", spd::inverse, "inverse");
  core.def(
      "spd_power",
      [](const MatrixIn& a, double exponent) {
        return give(unlocked([&] { return spd::power(read(a), exponent); }));
      },
      "a"_a, "exponent"_a, "real power");
  const auto between = [&](const char* function, Matrix (*of)(const Matrix&, const Matrix&, double),
                           const char* help) {
    core.def(
        function,
        [of](const MatrixIn& a, const MatrixIn& b, double t) {
          return give(unlocked([&] { return of(read(a), read(b), t); }));
        },
        "a"_a, "b"_a, "t"_a = Options().geodesic, help);
  };
  between("spd_geometric_mean", spd::geometric_mean, "A #_t B");
  between("spd_geodesic", spd::geodesic, "the point at t of the geodesic from A to B");
  between("spd_riccati", spd::riccati, "C^-1 #_t D; for t = 1/2 the solution A of A C A = D");
  core.def(
      "spd_distance",
      [](const MatrixIn& a, const MatrixIn& b) {
        return unlocked([&] { return spd::distance(read(a), read(b)); });
      },
      "a"_a, "b"_a, "affine-invariant distance");
  using Stack = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  core.def(
      "spd_karcher_mean",
      [](const Stack& matrices) {
        std::vector<Matrix> all;
        const auto rows = static_cast<Index>(matrices.shape(1));
        const auto columns = static_cast<Index>(matrices.shape(2));
        for (std::size_t k = 0; k < matrices.shape(0); ++k)
          all.emplace_back(Eigen::Map<const Matrix>(
              matrices.data() + static_cast<Index>(k) * rows * columns, rows, columns));
        return give(unlocked([&] { return spd::karcher_mean(all); }));
      },
      "matrices"_a, "the mean under the affine-invariant distance");
}

nb::dict sample() {
  Sample digits = unlocked([] { return mnist_sample(); });
  nb::dict all;
  const auto add = [&](const char* points, const char* labels, Domain& domain) {
    all[points] = give(std::move(domain.points));
    all[labels] = give(std::move(domain.labels));
  };
  add("Xs", "ys", digits.source);
  add("Xt", "yt", digits.target);
  add("X_test", "y_test", digits.test);
  return all;
}

}  // namespace
}  // namespace remblai::python

NB_MODULE(_core, core) {
  using namespace remblai::python;
  using namespace nb::literals;
  nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
    try {
      std::rethrow_exception(raised);
    } catch (const remblai::Error& error) {
      PyErr_SetString(PyExc_ValueError, with_keywords(error.what()).c_str());
    }
  });
  core.doc() = "The C++ library. Use the functions and classes of the package remblai instead.";
  core.attr("version") = remblai::version();
  bind_model(core);
  bind_predictor(core);
  bind_transport(core);
  bind_spd(core);
  core.def("options", describe_options, "every option: name, default, choices, help");
  core.def("fit", fit_model, "source"_a, "target"_a, "source_labels"_a = nb::none(),
           "target_labels"_a = nb::none(), "source_weights"_a = nb::none(),
           "target_weights"_a = nb::none(), "prior"_a = nb::none(), "metric"_a = nb::none(),
           "features"_a = std::vector<std::string>(), "options"_a = nb::dict(),
           "callback"_a = nb::none(), "start"_a = nb::none(),
           "(model, what stopped it: an exception or None)");
  core.def(
      "load",
      [](const std::filesystem::path& path) {
        return unlocked([&] { return remblai::load(path.string()); });
      },
      "path"_a, "a model from its file");
  core.def("build", remblai::build, "what results may depend on in their last digits");
  core.def("mnist_sample", sample, "a small sample of MNIST whose labels shift");
}
