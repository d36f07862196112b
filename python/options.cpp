// Conversion of options between Python and the library.
#include "options.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.h"
#include "remblai/error.h"

namespace remblai::python {
namespace {

/// Names whose keyword is another word.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> words{{
    {"lambda", "lambda_"},
    {"known-labels", "known_labels"},
    {"source-labels", "ys"},
    {"source-weights", "source_weights"},
    {"target-labels", "yt"},
    {"target-weights", "target_weights"},
    // As Domain::validate calls them.
    {"source", "Xs"},
    {"source points", "Xs"},
    {"source labels", "ys"},
    {"source weights", "source_weights"},
    {"target", "Xt"},
    {"target points", "Xt"},
    {"target labels", "yt"},
    {"target weights", "target_weights"},
}};

std::string spelled(std::string_view name, const Names& names) {
  const std::string own = keyword(name);
  const auto found = names.find(own);
  return found == names.end() ? own : found->second;
}

std::string text_of_value(nb::handle value) {
  return nb::cast<std::string>(nb::repr(value));
}

// The names that a caller may give: all but `given`, which is what a matrix is called in files.
template <class Enum>
std::vector<std::string_view> choices(Enum value) {
  std::vector<std::string_view> all;
  for (const std::string_view one : names(value))
    if (one != "given") all.push_back(one);
  return all;
}
template <class Enum>
std::vector<std::string_view> choices(const ChoiceOrMatrix<Enum>& value) {
  return choices(value.kind());
}

template <class Enum>
Enum enum_from(const std::string& option, nb::handle value, const char* or_else = "") {
  std::string text, known;
  const bool named = nb::try_cast<std::string>(value, text);
  int place = 0;
  for (const std::string_view one : choices(Enum())) {
    if (named && one == text) return static_cast<Enum>(place);
    known += (place++ ? ", " : "") + std::string(one);
  }
  throw Error({.field = option,
               .value = text_of_value(value),
               .problem = "is not one of " + known + or_else});
}

// Class shares come as one row, which the package makes of what it was given.
template <class Enum>
void assign(const std::string& option, nb::handle value, ChoiceOrMatrix<Enum>& field) {
  constexpr bool shares = std::is_same_v<Enum, SharesChoice>;
  MatrixIn matrix;
  if (nb::try_cast<MatrixIn>(value, matrix))
    field = Matrix(read(matrix));
  else
    field = enum_from<Enum>(option, value, shares ? ", nor one number a class" : ", nor a matrix");
}

template <class Field>
void assign(const std::string& option, nb::handle value, Field& field) {
  if constexpr (std::is_enum_v<Field>) {
    field = enum_from<Field>(option, value);
  } else if (!nb::try_cast<Field>(value, field)) {
    if constexpr (std::is_same_v<Field, int>) {
      double number = 0;  // 10.0 is a whole number too
      if (nb::try_cast<double>(value, number) && number == std::trunc(number)) {
        if (std::abs(number) > std::numeric_limits<int>::max())
          throw Error({.field = option, .value = text_of_value(value), .problem = "is too large"});
        field = static_cast<int>(number);
        return;
      }
      throw Error(
          {.field = option, .value = text_of_value(value), .problem = "is not a whole number"});
    }
    throw Error({.field = option, .value = text_of_value(value), .problem = "is not a number"});
  }
}

bool left_to_the_method(double value) {
  return value == by_method;
}
bool left_to_the_method(int value) {
  return value == steps_by_method;
}

// None for a number that is left to the method.
template <class Field>
nb::object to_object(const Field& field) {
  if constexpr (!std::is_arithmetic_v<Field>) {
    const std::string_view text = name(field);
    return nb::str(text.data(), text.size());
  } else {
    return left_to_the_method(field) ? nb::none() : nb::cast(field);
  }
}

}  // namespace

std::string keyword(std::string_view name) {
  for (const auto& [input, word] : words)
    if (input == name) return std::string(word);
  std::string found(name);
  const auto look = [&](const char* option, const auto&, const char*) {
    if (option == name) std::replace(found.begin(), found.end(), '-', '_');
  };
  const Options options;
  const PredictOptions prediction;
  for_each_option(options, look);
  for_each_option(prediction, look);
  return found;
}

Spelling in_sentences(const Names& names) {
  return [names](std::string_view name) { return "'" + spelled(name, names) + "'"; };
}

std::string text_of(const Message& message, const Names& names) {
  Message rest = message;
  rest.field.clear();
  const std::string text = rest.text(in_sentences(names));
  return message.field.empty() ? text : spelled(message.field, names) + ": " + text;
}

void raise_refused(const Message& message) {
  if (message.code != 0) {  // OSError picks its kind by the number
    const nb::object type = nb::borrow(PyExc_OSError);
    PyErr_SetObject(PyExc_OSError, type(message.code, text_of(message)).ptr());
    return;
  }
  const nb::object type = nb::module_::import_("remblai._calls").attr("Refused");
  const nb::object refused = type(message.field, message.value, message.problem, message.remedy);
  PyErr_SetObject(type.ptr(), refused.ptr());
}

namespace {

// None stands for the default.
bool is_given(const nb::dict& keywords, const nb::str& key) {
  return keywords.contains(key) && !nb::object(keywords[key]).is_none();
}

template <class OptionsType>
OptionsType from_keywords(const nb::dict& keywords) {
  OptionsType options;
  nb::list known;
  for_each_option(options, [&](const char* option, auto& field, const char*) {
    const std::string name = keyword(option);
    const nb::str key(name.c_str());
    known.append(key);
    if (is_given(keywords, key)) assign(option, keywords[key], field);
  });
  nb::module_::import_("remblai._calls").attr("require_known")(keywords, known);
  return options;
}

template <class OptionsType>
nb::list describe() {
  nb::list all;
  const OptionsType defaults;
  for_each_option(defaults, [&](const char* option, const auto& field, const char* help) {
    nb::dict one;
    one["name"] = keyword(option);
    one["default"] = to_object(field);
    one["choices"] = nb::none();
    if constexpr (!std::is_arithmetic_v<std::remove_cvref_t<decltype(field)>>) {
      nb::list known;
      for (const std::string_view name : choices(field))
        known.append(nb::str(name.data(), name.size()));
      one["choices"] = nb::tuple(known);
    }
    one["help"] = help;
    all.append(one);
  });
  return all;
}

}  // namespace

Options options_from(const nb::dict& keywords) {
  return from_keywords<Options>(keywords);
}

// What belongs to one rule asks for that rule, as on the command line.
PredictOptions prediction_from(const nb::dict& keywords) {
  PredictOptions options = from_keywords<PredictOptions>(keywords);
  for (const char* option : {"neighbours", "knn-metric"}) {
    if (!is_given(keywords, nb::str(keyword(option).c_str()))) continue;
    if (options.rule == Rule::automatic) options.rule = Rule::nearest;
    if (options.rule != Rule::nearest)
      throw Error({.field = option,
                   .problem = "has no meaning for the rule " + std::string(name(options.rule)),
                   .remedy = "leave it out, or give the $rule nearest"});
  }
  return options;
}

nb::dict to_dict(const Options& options) {
  nb::dict all;
  const Options whole = options.resolved();
  for_each_option(whole, [&](const char* option, const auto& field, const char*) {
    all[keyword(option).c_str()] = to_object(field);
  });
  return all;
}

nb::list describe_options() {
  return describe<Options>();
}

nb::list describe_prediction() {
  return describe<PredictOptions>();
}

SolverChoice solver_from(const std::string& name) {
  return enum_from<SolverChoice>("solver", nb::str(name.c_str()));
}
Precision precision_from(const std::string& name) {
  return enum_from<Precision>("precision", nb::str(name.c_str()));
}
Device device_from(const std::string& name) {
  return enum_from<Device>("device", nb::str(name.c_str()));
}

}  // namespace remblai::python
