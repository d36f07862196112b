// Numbers from text.
#include "values.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace remblai::cli {
namespace {

template <class Number>
bool parse_all(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && stop == end;
}

}  // namespace

void parse(const std::string& flag, const std::string& text, double& field, std::string*) {
  double value = 0;
  if (!parse_all(text, value) || !std::isfinite(value)) {
    throw Error({.field = flag,
                 .value = fmt::format("'{}'", text),
                 .problem = "is not a finite number",
                 .remedy = "write it like 0.05 or 1e-6"});
  }
  field = value;
}

void parse(const std::string& flag, const std::string& text, int& field, std::string*) {
  int value = 0;
  if (!parse_all(text, value)) {
    throw Error(
        {.field = flag,
         .value = fmt::format("'{}'", text),
         .problem = fmt::format("is not a whole number between {} and {}",
                                std::numeric_limits<int>::min(), std::numeric_limits<int>::max())});
  }
  field = value;
}

void parse(const std::string&, const std::string& text, std::string& field, std::string*) {
  field = text;
}

std::string type_of(double, bool) {
  return "NUMBER";
}
std::string type_of(int, bool) {
  return "INTEGER";
}

std::string text_of(double value) {
  return fmt::format("{}", value);
}
std::string text_of(int value) {
  return fmt::format("{}", value);
}

}  // namespace remblai::cli
