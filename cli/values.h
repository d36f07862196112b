// Values of flags: what a person typed, as a number, a choice or the name of a file. Numbers are
// parsed strictly: the whole text, finite, in range of the type.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/options.h"
#include "words.h"

namespace remblai::cli {

/// Each sets `field` or throws Error naming `flag`. Only a choice reads `file`.
void parse(const std::string& flag, const std::string& text, double& field, std::string* file);
void parse(const std::string& flag, const std::string& text, int& field, std::string* file);
void parse(const std::string& flag, const std::string& text, std::string& field, std::string* file);

/// The names a person may type: all but `given`, which is what a file stands for.
template <class Enum>
std::vector<std::string> choices(Enum value) {
  std::vector<std::string> result;
  for (std::string_view name : names(value)) {
    if (name != "given") result.emplace_back(name);
  }
  return result;
}
template <class Enum>
std::vector<std::string> choices(const ChoiceOrMatrix<Enum>& value) {
  return choices(value.kind());
}

template <class Enum>
Enum kind_of(Enum value) {
  return value;
}
template <class Enum>
Enum kind_of(const ChoiceOrMatrix<Enum>& value) {
  return value.kind();
}

/// A choice by its name. The path of an existing file goes to `file`, where there is one: who reads
/// the points reads it with them.
template <class Field>
void parse(const std::string& flag, const std::string& text, Field& field, std::string* file) {
  const std::vector<std::string> allowed = choices(field);
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) {
    const auto all = names(kind_of(field));
    field = static_cast<decltype(kind_of(field))>(std::find(all.begin(), all.end(), text) -
                                                  all.begin());
    return;
  }
  if (file && std::filesystem::exists(io::parse_spec(text).path)) {
    *file = text;
    return;
  }
  throw Error({.field = flag,
               .value = fmt::format("'{}'", text),
               .problem = fmt::format("is {} {}{}",
                                      file ? "neither an existing file nor one of" : "not one of",
                                      fmt::join(allowed, ", "), suggestion(text, allowed))});
}

/// What the help shows for a value, and for its default.
std::string type_of(double, bool file);
std::string type_of(int, bool file);
template <class Field>
std::string type_of(const Field& value, bool file) {
  return fmt::format("{}{}", fmt::join(choices(value), "|"), file ? "|FILE" : "");
}

std::string text_of(double value);
std::string text_of(int value);
template <class Field>
std::string text_of(const Field& value) {
  return std::string(name(value));
}

}  // namespace remblai::cli
