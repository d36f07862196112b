// Models as .npz files: arrays under plain names, and one JSON text for options, history and
// status.
#include "remblai/model_io.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "model/class_places.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/version.h"
#include "report/json.h"

namespace remblai {
namespace {

constexpr std::int64_t format_version = 1;

// Every array of a model under its name in the file; for writing and for reading.
template <class ModelType, class Visitor>
void for_each_array(ModelType& m, Visitor&& visit) {
  visit("source_points", m.source.points);
  visit("source_labels", m.source.labels);
  visit("source_weights", m.source.weights);
  visit("target_points", m.target.points);
  visit("target_labels", m.target.labels);
  visit("target_weights", m.target.weights);
  visit("f", m.f);
  visit("g", m.g);
  visit("metric_origin", m.metric.frame.origin);
  visit("metric_basis", m.metric.frame.basis);
  visit("metric_factor", m.metric.factor);
  visit("scaler_mean", m.scaler.mean);
  visit("scaler_scale", m.scaler.scale);
  visit("scaler_target_mean", m.scaler.target_mean);
  visit("scaler_target_scale", m.scaler.target_scale);
}

template <class ClassifierType, class Visitor>
void for_each_array(const std::string& prefix, ClassifierType& c, Visitor&& visit) {
  visit(prefix + "_points", c.points);
  visit(prefix + "_coefficients", c.coefficients);
  visit(prefix + "_biases", c.biases);
}

// The classes of a class-aware model; `classes` is there when the model has any.
template <class ClassModelType, class Visitor>
void for_each_class_array(ClassModelType& m, Visitor&& visit) {
  visit("classes", m.classes);
  visit("class_source_shares", m.source_shares);
  visit("class_shares", m.shares);
  visit("class_discrepancies", m.discrepancies);
  visit("class_trust", m.trust);
  visit("class_move_lengths", m.move_lengths);
  visit("class_plan_moves", m.plan_moves);
  visit("class_moves", m.moves);
  visit("class_opinions", m.opinions);
  visit("class_known", m.known);
  for_each_array("opinion", m.opinion, visit);
  for_each_array("head", m.head, visit);
}

template <class ClassModelType, class Visitor>
void for_each_class_scalar(ClassModelType& m, Visitor&& visit) {
  visit("class_reliability", m.reliability);
  visit("class_left_out", m.left_out);
  visit("class_common_trust", m.common_trust);
  visit("class_cost", m.class_cost);
  visit("opinion_width", m.opinion.width);
  visit("opinion_scale", m.opinion.scale);
  visit("opinion_temperature", m.opinion.temperature);
  visit("opinion_missed", m.opinion.missed);
  visit("head_width", m.head.width);
  visit("head_scale", m.head.scale);
  visit("head_temperature", m.head.temperature);
  visit("head_missed", m.head.missed);
}

template <class ModelType, class Visitor>
void for_each_scalar(ModelType& m, Visitor&& visit) {
  visit("lambda", m.lambda);
  visit("ridge", m.ridge);
  visit("metric_length", m.metric.frame.length);
  visit("metric_unit", m.metric.unit);
  visit("metric_outside", m.metric.outside);
}

// Whatever else a file holds is not read.
bool is_of_a_model(std::string_view name) {
  static const std::set<std::string, std::less<>> known = [] {
    std::set<std::string, std::less<>> names{"format_version", "meta", "exact_source",
                                             "exact_target", "exact_amount"};
    const auto add = [&](const std::string& key, const auto&) { names.insert(key); };
    const Model model;
    for_each_array(model, add);
    for_each_scalar(model, add);
    const ClassModel classes;
    for_each_class_array(classes, add);
    for_each_class_scalar(classes, add);
    return names;
  }();
  return known.contains(name);
}

Labels whole(std::int64_t value) {
  return Labels::Constant(1, value);
}

using Arrays = std::map<std::string, io::Array>;

const Matrix& at(const Arrays& arrays, const std::string& key) {
  const auto found = arrays.find(key);
  if (found == arrays.end() || found->second.values.size() == 0)
    throw Error({.problem = fmt::format("the array '{}' is missing", key)});
  return found->second.values;
}

void assign(const Matrix& values, Matrix& out) {
  out = values;
}
void assign(const Matrix& values, Vector& out) {
  out = values.reshaped();
}
void assign(const Matrix& values, Labels& out) {
  if (!(values.array().abs() <= 0x1p53).all() || (values.array() != values.array().round()).any())
    throw Error({.problem = "its labels are not whole numbers"});
  out = values.reshaped().cast<std::int64_t>();
}

bool by_domain(Preprocess kind) {
  return kind == Preprocess::centre || kind == Preprocess::standardise;
}

bool scales_columns(Preprocess kind) {
  return kind == Preprocess::zscore || by_domain(kind);
}

// A file may hold anything under these names: what does not fit together is refused here, so that
// no later access can leave its bounds and no answer is NaN.
void require_consistent(const Model& m) {
  const Index rows = m.source.size(), columns = m.target.size(), d = m.source.dimension();
  const Index rank = m.metric.rank();
  const auto optional = [](Index size, Index expected) { return size == 0 || size == expected; };
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  // -infinity marks a point of weight 0; there is always another.
  const auto usable = [](const Vector& potentials) {
    return !potentials.hasNaN() && std::isfinite(potentials.maxCoeff());
  };
  m.source.validate("source");
  m.target.validate("target");
  if (m.target.dimension() != d || m.source.weights.size() != rows ||
      m.target.weights.size() != columns || m.f.size() != rows || m.g.size() != columns ||
      m.metric.frame.origin.size() != d || !optional(m.metric.frame.basis.rows(), d) ||
      !optional(m.metric.factor.rows(), rank) || !optional(m.metric.factor.cols(), rank) ||
      !optional(static_cast<Index>(m.features.size()), d) ||
      !optional(m.scaler.target_mean.size(), d) || !optional(m.scaler.target_scale.size(), d) ||
      m.scaler.target_mean.size() != m.scaler.target_scale.size() ||
      by_domain(m.scaler.kind) != (m.scaler.target_mean.size() > 0) ||
      (scales_columns(m.scaler.kind) && (m.scaler.mean.size() != d || m.scaler.scale.size() != d)))
    throw Error({.problem = "the shapes of its arrays do not fit each other"});
  if ((m.options.metric == MetricChoice::identity) != (m.metric.factor.size() == 0))
    throw Error({.problem = "the array 'metric_factor' is missing, or should be"});
  if ((m.lambda == 0) != !m.exact.empty())
    throw Error({.problem = "its exact plan is missing, or should be"});
  if (!positive(m.metric.unit) || !positive(m.metric.frame.length) || !positive(m.metric.outside) ||
      !(m.ridge >= 0 && std::isfinite(m.ridge)) ||
      !(m.lambda == 0 || m.lambda >= std::numeric_limits<double>::min()) || !usable(m.f) ||
      !usable(m.g) || (m.scaler.scale.size() > 0 && !(m.scaler.scale.minCoeff() > 0)) ||
      (m.scaler.target_scale.size() > 0 && !(m.scaler.target_scale.minCoeff() > 0)))
    throw Error({.problem = "a scale or a potential is not a number that can be"});
  require_finite(m.metric.frame.origin, "metric_origin");
  require_finite(m.metric.frame.basis, "metric_basis");
  require_finite(m.metric.factor, "metric_factor");
  require_finite(m.scaler.mean, "scaler_mean");
  require_finite(m.scaler.scale, "scaler_scale");
  require_finite(m.scaler.target_mean, "scaler_target_mean");
  require_finite(m.scaler.target_scale, "scaler_target_scale");
  for (const Mass& mass : m.exact)
    if (mass.source >= rows || mass.target >= columns)
      throw Error({.problem = "an entry of its exact plan names a point that is not there"});
}

void require_consistent(const Classifier& c, Index classes, Index rank, const char* name) {
  const bool means = c.width == 0;
  const bool shapes =
      c.points.cols() == rank && c.biases.size() == classes && c.points.rows() > 0 &&
      (means ? c.coefficients.size() == 0 && c.points.rows() == classes
             : c.coefficients.rows() == c.points.rows() && c.coefficients.cols() == classes);
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  if (!shapes || !(means || positive(c.width)) || !positive(c.scale) || !positive(c.temperature) ||
      !std::isfinite(c.missed))
    throw Error(
        {.problem = fmt::format("the arrays of its classifier '{}' do not fit together", name)});
  require_finite(c.points, fmt::format("{}_points", name));
  require_finite(c.coefficients, fmt::format("{}_coefficients", name));
  require_finite(c.biases, fmt::format("{}_biases", name));
}

// The same care for what a class-aware model holds.
void require_consistent_classes(const Model& m) {
  const bool wanted = m.options.method == Method::class_aware;
  if (wanted != m.classes.has_value())
    throw Error({.problem = "the array 'classes' is missing, or should be"});
  if (!wanted) return;
  const ClassModel& c = *m.classes;
  const Index k = c.classes.size(), d = m.source.dimension();
  const auto is_share = [&](const Vector& shares) {
    return shares.size() == k && (shares.array() > 0).all() && std::isfinite(shares.sum());
  };
  if (k == 0 || !is_share(c.source_shares) || !is_share(c.shares) || c.trust.size() != k ||
      c.move_lengths.size() != k || c.plan_moves.rows() != k || c.plan_moves.cols() != d ||
      c.moves.rows() != k || c.moves.cols() != d || c.opinions.rows() != m.target.size() ||
      c.opinions.cols() != k || c.discrepancies.size() != 4 || !(c.opinions.array() >= 0).all() ||
      !std::isfinite(c.class_cost) || !(c.class_cost >= 0) || !m.source.labelled())
    throw Error({.problem = "the arrays of its classes do not fit each other"});
  for (Index i = 1; i < k; ++i)
    if (c.classes[i] <= c.classes[i - 1])
      throw Error({.problem = "its classes are not in ascending order"});
  for (Index i = 0; i < m.source.size(); ++i)
    if (m.source.weights[i] > 0 && ClassPlaces::place_in(c.classes, m.source.labels[i]) < 0)
      throw Error({.problem = "a source label is none of its classes"});
  if (c.known.size() != 0 && c.known.size() != m.target.size())
    throw Error({.problem = fmt::format("it has {} known labels for {} target points",
                                        c.known.size(), m.target.size())});
  require_finite(c.plan_moves, "class_plan_moves");
  require_finite(c.moves, "class_moves");
  require_finite(c.opinions, "class_opinions");
  require_finite(c.trust, "class_trust");
  for (const double share : {c.reliability, c.left_out, c.common_trust})
    if (!(share >= 0 && share <= 1))
      throw Error({.problem = "a reliability or trust is not between 0 and 1"});
  require_finite(c.move_lengths, "class_move_lengths");
  require_consistent(c.opinion, k, m.metric.rank(), "opinion");
  require_consistent(c.head, k, m.metric.rank(), "head");
}

void read_exact(const Arrays& arrays, Model& model) {
  if (!arrays.contains("exact_amount")) return;
  const Matrix& amount = at(arrays, "exact_amount");
  const Matrix& source = at(arrays, "exact_source");
  const Matrix& target = at(arrays, "exact_target");
  if (source.size() != amount.size() || target.size() != amount.size())
    throw Error({.problem = "the arrays of its exact plan differ in length"});
  const auto place = [](double x) { return x >= 0 && x < 0x1p53 && x == std::floor(x); };
  for (Index k = 0; k < amount.size(); ++k) {
    if (!place(source(k)) || !place(target(k)) || !(amount(k) > 0 && amount(k) <= 1))
      throw Error(
          {.problem = fmt::format("entry {} of its exact plan is no mass between two points", k)});
    model.exact.push_back(
        {static_cast<Index>(source(k)), static_cast<Index>(target(k)), amount(k)});
  }
}

// The parts of a message under their names; for writing and for reading.
template <class MessageType, class Visitor>
void for_each_part(MessageType& message, Visitor&& visit) {
  visit("field", message.field);
  visit("value", message.value);
  visit("problem", message.problem);
  visit("remedy", message.remedy);
}

Model read_model(const Arrays& arrays) {
  const double found = at(arrays, "format_version")(0);
  if (found != format_version)
    throw Error({.problem = fmt::format("its format version is {}, this program reads version {}",
                                        found, format_version),
                 .remedy = "use the program version that wrote it, or fit again"});
  Model model;
  for_each_array(model, [&](const char* key, auto& values) {
    if (arrays.contains(key)) assign(arrays.at(key).values, values);
  });
  for_each_scalar(model, [&](const char* key, double& value) { value = at(arrays, key)(0); });
  read_exact(arrays, model);
  if (arrays.contains("classes")) {
    ClassModel& classes = model.classes.emplace();
    for_each_class_array(classes, [&](const std::string& key, auto& values) {
      if (arrays.contains(key)) assign(arrays.at(key).values, values);
    });
    for_each_class_scalar(classes,
                          [&](const char* key, double& value) { value = at(arrays, key)(0); });
  }

  const Matrix& bytes = at(arrays, "meta");
  if (!(bytes.array() >= 0 && bytes.array() <= 255).all())
    throw Error({.problem = "the array 'meta' is no text"});
  std::string text;
  for (const double byte : bytes.reshaped())
    text += static_cast<char>(static_cast<unsigned char>(byte));
  const Json meta = parsed(text);
  model.options = options_from(meta.at("options"));
  model.options.validate();
  model.scaler.kind = model.options.preprocess;
  model.history = history_from(meta.at("history"));
  if (const Json& residual = meta.at("fixed_point_residual"); residual.is_number())
    model.fixed_point_residual = residual;
  model.status.outcome = enum_from<Outcome>(meta.at("status").get<std::string>());
  if (meta.contains("message"))
    for_each_part(model.status.message, [&](const char* key, std::string& part) {
      part = meta.at("message").value(key, "");
    });
  else if (meta.contains("reason"))  // a sentence, in files of the first versions
    model.status.message.problem = literal(meta.at("reason").get<std::string>());
  if (meta.contains("features")) meta.at("features").get_to(model.features);
  if (model.classes) {
    model.classes->translated = meta.at("translated").get<bool>();
    model.classes->cautious = meta.at("cautious").get<bool>();
    // The first versions did not keep these four.
    model.classes->undecided = meta.value("undecided", 0.0);
    if (const double share = model.classes->undecided; !(share >= 0 && share <= 1))
      throw Error({.problem = fmt::format("its share of undecided points is {}", share)});
    model.classes->margin = meta.value("margin", 0.0);
    model.classes->estimated = meta.value("estimated", true);
    if (meta.contains("geodesic")) {
      const double t = meta.at("geodesic").get<double>();
      if (!(t > 0 && t < 1))
        throw Error({.problem = fmt::format("its geodesic weight is {}, not between 0 and 1", t)});
      model.classes->geodesic = t;
    }
  }
  require_consistent(model);
  require_consistent_classes(model);
  return model;
}

Error refusal(const std::string& path, const std::string& cause) {
  return Error(
      {.problem = fmt::format("cannot use '{}' as a model: {}", literal(path), literal(cause))});
}

}  // namespace

void save(const Model& model, const std::string& path) {
  require_all_rows(model, "a model file");
  std::map<std::string, io::Value> arrays;
  for_each_array(model, [&](const char* key, const auto& values) {
    if (values.size() > 0) arrays[key] = &values;
  });
  for_each_scalar(model, [&](const char* key, double value) {
    arrays[key] = Vector(Vector::Constant(1, value));
  });
  if (!model.exact.empty()) {
    const Index count = static_cast<Index>(model.exact.size());
    Labels source(count), target(count);
    Vector amount(count);
    for (Index k = 0; k < count; ++k) {
      const Mass& mass = model.exact[static_cast<std::size_t>(k)];
      source[k] = mass.source;
      target[k] = mass.target;
      amount[k] = mass.amount;
    }
    arrays["exact_source"] = source;
    arrays["exact_target"] = target;
    arrays["exact_amount"] = amount;
  }
  Json meta = {{"program", "remblai"},
               {"version", version()},
               {"options", options_json(model.options)},
               {"status", name(model.status.outcome)},
               {"fixed_point_residual", number(model.fixed_point_residual)},
               {"history", history_json(model.history)}};
  for_each_part(model.status.message, [&](const char* key, const std::string& part) {
    if (!part.empty()) meta["message"][key] = part;
  });
  if (!model.features.empty()) meta["features"] = model.features;
  if (model.classes) {
    for_each_class_array(*model.classes, [&](const std::string& key, const auto& values) {
      if (values.size() > 0) arrays[key] = &values;
    });
    for_each_class_scalar(*model.classes, [&](const char* key, double value) {
      arrays[key] = Vector(Vector::Constant(1, value));
    });
    meta["translated"] = model.classes->translated;
    meta["cautious"] = model.classes->cautious;
    meta["undecided"] = model.classes->undecided;
    meta["margin"] = model.classes->margin;
    meta["estimated"] = model.classes->estimated;
    if (std::isfinite(model.classes->geodesic)) meta["geodesic"] = model.classes->geodesic;
  }
  arrays["meta"] = meta.dump(-1, ' ', false, Json::error_handler_t::replace);
  arrays["format_version"] = whole(format_version);
  io::write_npz(path, arrays);
}

Model load(const std::string& path) {
  const Arrays arrays = io::read_npz(path, is_of_a_model);
  if (!arrays.contains("format_version") || !arrays.contains("meta"))
    throw refusal(path, "it is a .npz file, but not one written by remblai fit or adapt");
  try {
    return read_model(arrays);
  } catch (const Error& error) {
    // The file has the names as they are in it, not as a front end spells them.
    throw refusal(path,
                  error.message().text([](std::string_view name) { return std::string(name); }));
  } catch (const std::exception& error) {
    throw refusal(path, error.what());
  }
}

bool is_model_file(const std::string& path) {
  std::string suffix = path.substr(path.size() < 4 ? 0 : path.size() - 4);
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (suffix != ".npz") return false;
  bool version_found = false, meta_found = false;
  for (const io::Array& array : io::list(path)) {
    version_found = version_found || array.name == "format_version";
    meta_found = meta_found || array.name == "meta";
  }
  return version_found && meta_found;
}

}  // namespace remblai
