// Conversion of options between Python and the library.
#include "options.h"

#include <nanobind/stl/string.h>

#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <type_traits>
#include <vector>

#include "arrays.h"
#include "remblai/error.h"

namespace remblai::python {
namespace {

std::string text_of(nb::handle value) {
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
  throw Error(option + ": " + text_of(value) + " is not one of " + known + or_else);
}

template <class Enum>
void assign(const std::string& option, nb::handle value, ChoiceOrMatrix<Enum>& field) {
  MatrixIn matrix;
  if (nb::try_cast<MatrixIn>(value, matrix))
    field = Matrix(read(matrix));
  else
    field = enum_from<Enum>(option, value, ", nor a matrix");
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
          throw Error(option + ": " + text_of(value) + " is too large");
        field = static_cast<int>(number);
        return;
      }
      throw Error(option + ": " + text_of(value) + " is not a whole number");
    }
    throw Error(option + ": " + text_of(value) + " is not a number");
  }
}

template <class Field>
nb::object to_object(const Field& field) {
  if constexpr (!std::is_arithmetic_v<Field>) {
    const std::string_view text = name(field);
    return nb::str(text.data(), text.size());
  } else {
    return nb::cast(field);
  }
}

}  // namespace

std::string keyword(std::string_view option) {
  std::string text(option == "lambda" ? "lambda_" : option);
  for (char& c : text)
    if (c == '-') c = '_';
  return text;
}

std::string with_keywords(const std::string& message) {
  static const std::regex flag("--([a-z][a-z-]*)");
  static const std::regex subject("^([a-z][a-z-]*):");
  std::string text;
  auto rest = message.cbegin();
  for (std::sregex_iterator found(message.begin(), message.end(), flag), end; found != end;
       ++found) {
    text.append(rest, (*found)[0].first);
    text += "'" + keyword((*found)[1].str()) + "'";
    rest = (*found)[0].second;
  }
  text.append(rest, message.cend());
  std::smatch first;
  if (std::regex_search(text, first, subject))
    text = keyword(first[1].str()) + ":" + first.suffix().str();
  return text;
}

namespace {

template <class OptionsType>
OptionsType from_keywords(const nb::dict& keywords) {
  OptionsType options;
  std::size_t found = 0;
  for_each_option(options, [&](const char* option, auto& field, const char*) {
    const std::string name = keyword(option);
    const nb::str key(name.c_str());
    if (!keywords.contains(key)) return;
    assign(name, keywords[key], field);
    ++found;
  });
  if (found != keywords.size()) throw Error("options: a keyword that is no option");
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

PredictOptions prediction_from(const nb::dict& keywords) {
  return from_keywords<PredictOptions>(keywords);
}

nb::dict to_dict(const Options& options) {
  nb::dict all;
  for_each_option(options, [&](const char* option, const auto& field, const char*) {
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

}  // namespace remblai::python
