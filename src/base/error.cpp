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

// Length of the UTF-8 character at the front of `text`; 0 when there is none or a terminal must not
// see it.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead >= 0xf5   ? 0
                             : lead >= 0xf0 ? 4
                             : lead >= 0xe0 ? 3
                             : lead >= 0xc2 ? 2
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool beyond = lead == 0xf4 && byte(1) >= 0x90;
  const bool control = lead == 0xc2 && byte(1) < 0xa0;
  // U+2028 to U+202E and U+2066 to U+2069: ends of lines, and marks of direction.
  const bool turning = lead == 0xe2 && ((byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||
                                        (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9));
  return overlong || surrogate || beyond || control || turning ? 0 : length;
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
  return printable(out);
}

std::string Message::text() const {
  return text(member_name);
}

std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '$' ? "$$" : std::string(1, c);
  return out;
}

std::string printable(std::string_view text, std::size_t longest) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
  std::string shown;
  for (std::size_t characters = 0; !text.empty(); ++characters) {
    if (characters == longest) return shown + "...";
    // Most text is plain, and taken as a whole.
    const std::string_view front = text.substr(0, longest - characters);
    const auto end = std::find_if_not(front.begin(), front.end(), plain);
    const auto run = static_cast<std::size_t>(end - front.begin());
    if (run > 1) {
      shown += text.substr(0, run);
      text.remove_prefix(run);
      characters += run - 1;
      continue;
    }
    const std::size_t length = printable_length(text);
    if (length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

Error::Error(Message message) : std::runtime_error(message.text()), message_(std::move(message)) {}

}  // namespace remblai
