// load, the model and what it answers.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "options.h"
#include "remblai/diagnosis.h"
#include "remblai/evaluate.h"
#include "remblai/map.h"
#include "remblai/model_io.h"
#include "remblai/page.h"
#include "remblai/predict.h"
#include "remblai/report.h"

namespace remblai::python {
namespace {

using namespace nb::literals;

// Anything that the package takes for points, as the library reads it. Columns with names must be
// the `features`, where these have names too.
MatrixIn points_from(const nb::object& values, const std::vector<std::string>& features = {},
                     const char* name = "points") {
  return nb::cast<MatrixIn>(
      nb::module_::import_("remblai._checks").attr("core_points")(values, name, features));
}

// A read-only view of one array of a model, or of its classes.
template <class Owner = Model, class Select>
auto array_of(Select select) {
  return [select](nb::handle_t<Owner> self) {
    return view(select(nb::cast<const Owner&>(self)), self);
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

void bind_evaluate(nb::module_& core) {
  core.def(
      "evaluate",
      [](const LabelsIn& predicted, const LabelsIn& truth) {
        const Score score = evaluate(read(predicted), read(truth));
        return nb::make_tuple(score.scored, score.correct, score.unknown);
      },
      "predicted"_a, "truth"_a, "(scored, correct, unknown); a true label of -1 is unknown");
  core.def(
      "check_prediction",
      [](Index labelled, bool class_aware, const nb::kwargs& keywords) {
        const PredictOptions options = prediction_from(keywords);
        options.validate(labelled);
        Model model;  // what the rule asks of one
        model.source.labels = Labels::Zero(labelled);
        if (class_aware) model.classes.emplace();
        rule_for(model, options.rule);
      },
      "labelled"_a, "class_aware"_a, "options"_a,
      nb::sig("def check_prediction(labelled: int, class_aware: bool, **options: object) -> None"),
      "raises unless a model of so many labelled points can answer");
}

void bind_predictor(nb::module_& core) {
  nb::class_<Predictor>(core, "Predictor", "Model.predict for several sets of points.")
      .def(
          "__init__",
          [](Predictor* self, const Model& model, const nb::kwargs& keywords) {
            const PredictOptions options = prediction_from(keywords);
            unlocked([&] { new (self) Predictor(model, options); });
          },
          nb::keep_alive<1, 2>(), "model"_a, "options"_a,
          nb::sig("def __init__(self, model: Model, **options: object) -> None"))
      .def(
          "__call__",
          [](const Predictor& p, const nb::object& values) {
            const MatrixIn points = points_from(values);
            return give(unlocked([&] { return p(read(points)); }));
          },
          "points"_a, "labels")
      .def(
          "probabilities",
          [](const Predictor& p, const nb::object& values) {
            const MatrixIn points = points_from(values);
            return give(unlocked([&] { return p.probabilities(read(points)); }));
          },
          "points"_a, "(classes, probabilities), one column a class");
}

std::string doubt_of(const ClassModel& classes) {
  const Diagnosis diagnosis = diagnose(classes);
  if (!diagnosis.doubtful) return {};
  return Warning{diagnosis.doubt, diagnosis.advice}.text(in_sentences());
}

std::vector<std::string> warnings_of(const Model& model, const Names& names) {
  std::vector<std::string> list;
  for (const Warning& warning : warnings(model)) list.push_back(warning.text(in_sentences(names)));
  return list;
}

void bind_class_model(nb::module_& core) {
  const auto array = [](auto select) { return array_of<ClassModel>(select); };
  nb::class_<ClassModel>(core, "ClassModel", nb::dynamic_attr(),
                         "What a class-aware fit knows of the classes. Arrays are read-only views; "
                         "entries and rows follow `classes`.")
      .def_prop_ro("classes", array([](auto& c) -> auto& { return c.classes; }),
                   "labels of the source, ascending")
      .def_prop_ro("source_shares", array([](auto& c) -> auto& { return c.source_shares; }),
                   "share of each class in the source, by weight")
      .def_prop_ro("shares", array([](auto& c) -> auto& { return c.shares; }),
                   "share of each class in the target, estimated or given")
      .def_prop_ro(
          "reliability", [](const ClassModel& c) { return c.reliability; },
          "between 0 and 1: the smallest of left_out and every round trip, in which a classifier "
          "of the guessed target labels labels the source; the labels are doubtful below 0.8")
      .def_prop_ro(
          "left_out", [](const ClassModel& c) { return c.left_out; },
          "leave-one-out accuracy of the first classifier on the source")
      .def_prop_ro(
          "translated", [](const ClassModel& c) { return c.translated; },
          "the source was first moved onto the mean of the target")
      .def_prop_ro(
          "cautious", [](const ClassModel& c) { return c.cautious; },
          "shares were held near those of the source")
      .def_prop_ro(
          "undecided", [](const ClassModel& c) { return c.undecided; },
          "where the data cannot tell whether the target was translated: the share of its points "
          "whose first guess depends on it; else 0")
      .def_prop_ro(
          "geodesic", [](const ClassModel& c) { return c.geodesic; },
          "weight of the geodesic that the metric was made with, t or half of it; NaN where no "
          "metric was learned")
      .def_prop_ro(
          "common_trust", [](const ClassModel& c) { return c.common_trust; },
          "between 0 and 1: how much of the common move is kept")
      .def_prop_ro("trust", array([](auto& c) -> auto& { return c.trust; }),
                   "between 0 and 1: how much of each class's own move is kept")
      .def_prop_ro("move_lengths", array([](auto& c) -> auto& { return c.move_lengths; }),
                   "length of each class's move, in units of the spread within classes")
      .def_prop_ro("plan_moves", array([](auto& c) -> auto& { return c.plan_moves; }),
                   "what was added to the source points of each class for the plan, K x d")
      .def_prop_ro(
          "class_cost", [](const ClassModel& c) { return c.class_cost; },
          "weight of -ln(opinion) in the cost of the plan, in units of the cost")
      .def_prop_ro("moves", array([](auto& c) -> auto& { return c.moves; }),
                   "what is added to the source points of each class, preprocessed, K x d")
      .def_prop_ro("opinions", array([](auto& c) -> auto& { return c.opinions; }),
                   "what the plan was told of each target point, n x K; rows sum to 1")
      .def_prop_ro(
          "shift", [](const ClassModel& c) { return std::string(name(diagnose(c).shift)); },
          "what differs between the domains: none, shares, position or both")
      .def_prop_ro(
          "diagnosis", [](const ClassModel& c) { return diagnose(c).shift_words; },
          "the same in words, with how much of it")
      .def_prop_ro("doubt", doubt_of,
                   "what is wrong and what to do where labels may be poor; else empty")
      .def("__repr__", [](const ClassModel& c) {
        return fmt::format("<remblai.ClassModel: {} classes; reliability {:.3f}>", c.classes.size(),
                           c.reliability);
      });
}

}  // namespace

void bind_model(nb::module_& core) {
  bind_class_model(core);
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
      .def_prop_ro("metric_origin",
                   array_of([](auto& m) -> auto& { return m.metric.frame.origin; }))
      .def_prop_ro("metric_basis",
                   array_or_none([](auto& m) -> auto& { return m.metric.frame.basis; }),
                   "V, d x r; None: the identity")
      .def_prop_ro("metric_factor", array_or_none([](auto& m) -> auto& { return m.metric.factor; }),
                   "F, r x r; None: the identity")
      .def_prop_ro("scaler_mean", array_or_none([](auto& m) -> auto& { return m.scaler.mean; }))
      .def_prop_ro("scaler_scale", array_or_none([](auto& m) -> auto& { return m.scaler.scale; }))
      .def_prop_ro("scaler_target_mean",
                   array_or_none([](auto& m) -> auto& { return m.scaler.target_mean; }),
                   "of the target, where each domain has its own; None: the same")
      .def_prop_ro("scaler_target_scale",
                   array_or_none([](auto& m) -> auto& { return m.scaler.target_scale; }))
      .def_prop_ro("metric_length", [](const Model& m) { return m.metric.frame.length; })
      .def_prop_ro("metric_unit", [](const Model& m) { return m.metric.unit; })
      .def_prop_ro("metric_outside", [](const Model& m) { return m.metric.outside; })
      .def_prop_ro(
          "lambda_", [](const Model& m) { return m.lambda; },
          "entropy weight, absolute, in units of the cost")
      .def_prop_ro(
          "ridge", [](const Model& m) { return m.ridge; }, "absolute")
      .def_prop_ro("options", [](const Model& m) { return to_dict(m.options); })
      .def_prop_ro(
          "classes",
          [](nb::handle_t<Model> self) {
            const Model& m = nb::cast<const Model&>(self);
            if (!m.classes) return nb::object(nb::none());
            nb::object found = nb::cast(&*m.classes, nb::rv_policy::reference);
            nb::setattr(found, "_model", self);  // keeps it alive, and is what is pickled
            return found;
          },
          nb::for_getter(nb::sig("def classes(self) -> ClassModel | None")),
          "what a class-aware fit knows of the classes; None for the method paper")
      .def_prop_ro(
          "status", [](const Model& m) { return std::string(name(m.status.outcome)); },
          "converged, iteration-limit, stopped or diverged")
      .def_prop_ro(
          "reason", [](const Model& m) { return text_of(m.status.message); },
          "what happened and what to change, in a sentence")
      .def(
          "reason_with",
          [](const Model& m, const Names& names) { return text_of(m.status.message, names); },
          "names"_a, "the same with other names for the options: {\"lambda_\": \"reg_e\"}")
      .def("warnings", warnings_of, "names"_a = Names(),
           "what to know before believing it, a list of sentences with what to change; `names` are "
           "other words for options and inputs: {\"known_labels\": \"yt_known\"}")
      .def_prop_ro("exact", exact_of,
                   "(source, target, amount) of the plan when lambda = 0, else None")
      .def(
          "report", [](const Model& m) { return to_json(m, {.spelling = in_sentences()}); },
          "the report of the command line, as JSON")
      .def(
          "html",
          [](const Model& m, const std::string& title, const std::optional<LabelsIn>& target_labels,
             const std::map<std::int64_t, std::string>& class_names, const Names& names,
             const nb::kwargs& keywords) {
            Report report;
            report.spelling = in_sentences(names);
            report.prediction = prediction_from(keywords);
            PageOptions page;
            page.title = title;
            page.target_labels = value_or_empty<Labels>(target_labels);
            page.class_names = class_names;
            return unlocked([&] { return to_html(m, report, page); });
          },
          "title"_a = PageOptions().title, "target_labels"_a = nb::none(),
          "class_names"_a = std::map<std::int64_t, std::string>(), "names"_a = Names(), "options"_a,
          nb::sig(
              "def html(self, title: str = ..., target_labels: NDArray[numpy.int64] | None = None, "
              "class_names: Mapping[int, str] = ..., names: Mapping[str, str] = ..., "
              "**options: object) -> str"),
          "the page of `remblai report`; labels of the target points score and colour it, `names` "
          "are other words for options, and further keywords are those of predict")
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
            const MatrixIn points = points_from(values, m.features);
            return give(unlocked([&] { return map(m, read(points)); }));
          },
          "points"_a = nb::none(), "where source points go: those of the model, or the ones given")
      .def(
          "map_back",
          [](const Model& m, const nb::object& values) {
            if (values.is_none()) return give(unlocked([&] { return map_back(m); }));
            const MatrixIn points = points_from(values, m.features);
            return give(unlocked([&] { return map_back(m, read(points)); }));
          },
          "points"_a = nb::none(),
          "where target points come from: those of the model, or the ones given")
      .def(
          "predict",
          [](const Model& m, const nb::object& values, const nb::kwargs& keywords) {
            const PredictOptions options = prediction_from(keywords);
            const MatrixIn points = points_from(values, m.features);
            return give(unlocked([&] { return predict(m, read(points), options); }));
          },
          "points"_a, "options"_a,
          nb::sig("def predict(self, points: object, **options: object) -> NDArray[numpy.int64]"),
          "labels of target points. The `rule` \"head\" is the classifier of a class-aware fit, "
          "\"nearest\" asks `neighbours` among the mapped source points, in the `knn_metric` "
          "\"model\" or \"euclidean\", and \"propagate\" goes through the plan. \"auto\" is the "
          "head where there is one, unless an option of \"nearest\" is given; else \"nearest\"")
      .def(
          "predict_proba",
          [](const Model& m, const nb::object& values, const nb::kwargs& keywords) {
            const PredictOptions options = prediction_from(keywords);
            const MatrixIn points = points_from(values, m.features);
            return give(unlocked([&] { return probabilities(m, read(points), options); }));
          },
          "points"_a, "options"_a,
          nb::sig("def predict_proba(self, points: object, **options: object) -> tuple"),
          "(classes, probabilities), one column a class: calibrated ones of the head, or shares of "
          "the neighbours' votes or of the mass that the plan sends. Keywords are those of predict")
      .def(
          "propagate",
          [](const Model& m, const nb::object& values) {
            const MatrixIn points = points_from(values, m.features);
            return give(unlocked([&] { return propagate(m, read(points)); }));
          },
          "points"_a, "(classes, shares): labels of target points, through the plan")
      .def(
          "distances",
          [](const Model& m, const nb::object& first, const nb::object& second) {
            const MatrixIn a = points_from(first, m.features, "a");
            const MatrixIn b = points_from(second, m.features, "b");
            return give(unlocked([&] { return distances(m, read(a), read(b)); }));
          },
          "a"_a, "b"_a, "|a_i - b_j| in the metric of the model, all pairs of rows")
      .def(
          "gathered", [](const Model& m) { return unlocked([&] { return gathered(m); }); },
          "the model with the source points of all ranks, on rank 0; all ranks call it")
      .def(
          "save",
          [](const Model& m, const nb::object& file) {
            const auto path = nb::cast<std::filesystem::path>(
                nb::module_::import_("remblai._checks").attr("path")(file));
            unlocked([&] { save(m, path.string()); });
          },
          "path"_a, nb::sig("def save(self, path: str | os.PathLike) -> None"),
          "writes the .npz file that load and the command line read")
      .def("__repr__", [](const Model& m) {
        return fmt::format(
            "<remblai.Model: {} source and {} target points of {} features\n"
            " method {}, lambda {:.4g} in units of the cost, {} steps\n {}: {}>",
            m.source.size(), m.target.size(), m.source.dimension(), name(m.options.method),
            m.lambda, m.history.size(), name(m.status.outcome), text_of(m.status.message));
      });
  bind_predictor(core);
  bind_evaluate(core);
  core.def(
      "load",
      [](const std::filesystem::path& path) {
        return unlocked([&] { return remblai::load(path.string()); });
      },
      "path"_a, "a model from its file");
}

}  // namespace remblai::python
