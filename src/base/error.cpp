// Puts a message into words.
#include "remblai/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "remblai/options.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || c == '-';
}

// The text with every $name spelled, and every $$ as one.
std::string spelled(std::string_view text, const Spelling& spelling) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "$$") {
      out += '$';
      i += 2;
      continue;
    }
    std::size_t end = i + 1;
    if (text[i] == '$')
      while (end < text.size() && in_name(text[end])) ++end;
    if (end > i + 1)
      out += spelling(text.substr(i + 1, end - i - 1));
    else
      out += text[i];
    i = end;
  }
  return out;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> inputs{{
    {"source-labels", "Problem::source.labels"},
    {"source-weights", "Problem::source.weights"},
    {"target-labels", "Problem::target.labels"},
    {"target-weights", "Problem::target.weights"},
    {"known-labels", "Problem::known_labels"},
}};

// The member of a struct that is called so on the command line: prior-ridge is
// Options::prior_ridge.
std::string member_name(std::string_view name) {
  for (const auto& [input, member] : inputs)
    if (input == name) return std::string(member);
  std::string found(name);
  const auto look_in = [&](const char* owner, const auto& options) {
    for_each_option(options, [&](const char* option, const auto&, const char*) {
      if (option != name) return;
      found = fmt::format("{}::{}", owner, option);
      std::replace(found.begin(), found.end(), '-', '_');
    });
  };
  look_in("Options", Options());
  look_in("ClassOptions", ClassOptions());  // after the options that hold them
  look_in("Resources", Resources());
  look_in("PredictOptions", PredictOptions());
  return found;
}

}  // namespace

std::string Message::text(const Spelling& spelling) const {
  std::string out = field.empty() ? "" : spelling(field) + ": ";
  out += value;
  if (!value.empty() && !problem.empty()) out += ' ';
  out += spelled(problem, spelling);
  if (!remedy.empty()) out += "; " + spelled(remedy, spelling);
  return out;
}

std::string Message::text() const {
  return text(member_name);
}

std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '$' ? "$$" : std::string(1, c);
  return out;
}

Error::Error(Message message) : std::runtime_error(message.text()), message_(std::move(message)) {}

}  // namespace remblai
