// Delimited text, taken apart one record after the other; numbers by std::from_chars. Fields point
// into the text that is in memory: nothing is copied until a message needs it.
#include "io/csv_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

constexpr std::size_t most_fields = 1'000'000;

Error refusal(const std::string& path, std::size_t line, const char* cause) {
  return Error({.problem = fmt::format("{}: line {}: {}", literal(path), line, cause)});
}

/// Whether a decimal number that a double cannot hold is too small for it, and not too large: by
/// the place of its first digit that is not 0.
bool below_one(std::string_view text) {
  const auto mark = text.find_first_of("eE");
  long long exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view digits = text.substr(mark + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (read.ec == std::errc::result_out_of_range) return digits.starts_with('-');
  }
  const std::string_view mantissa = text.substr(0, mark);
  const auto point = std::min(mantissa.find('.'), mantissa.size());
  const auto first = mantissa.find_first_of("123456789");
  const auto place = static_cast<long long>(point) - static_cast<long long>(first);
  return place + exponent <= 0;
}

}  // namespace

std::string Field::unescaped() const {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (quoted && text.substr(i, 2) == "\"\"") ++i;
  }
  return result;
}

Parse parse_number(std::string_view text, double& value) {
  if (text.empty()) return Parse::empty;
  if (text[0] == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range && result.ptr == end) {
    // A number too small becomes 0 and is taken.
    value = 0;
    return below_one(text) ? Parse::number : Parse::out_of_range;
  }
  return result.ec == std::errc{} && result.ptr == end ? Parse::number : Parse::text;
}

bool has_decimal_comma(std::string_view text) {
  const auto comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  std::string point(text);
  point[comma] = '.';
  double value = 0;
  return parse_number(point, value) == Parse::number;
}

bool is_grouped_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.find_first_of("0123456789") == 0 &&
         text.find_first_not_of("0123456789 .,") == std::string_view::npos;
}

bool is_missing_word(std::string_view text) {
  static constexpr std::string_view words[] = {"NA",   "N/A",  "n/a",  "#N/A",
                                               "null", "NULL", "None", "?"};
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

Records::Records(const std::string& path) : path_(path) {
  restart();
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
    throw Error({.problem = literal(path) + ": the text is UTF-16", .remedy = "save it as UTF-8"});
  }
  delimiter_ = find_delimiter();
  restart();
}

void Records::restart() {
  go_to(0, 1);
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

void Records::go_to(std::uint64_t byte, std::size_t line) {
  file_.emplace(path_);
  file_->skip(byte);
  text_.clear();
  before_ = byte;
  ended_ = false;
  at_ = 0;
  next_line_ = line;
  read_more();
}

/// What stands before the place that was reached is left behind. False at the end of the file.
bool Records::read_more() {
  if (exhausted()) return false;
  text_.erase(0, at_);
  before_ += at_;
  at_ = 0;
  const std::size_t before = text_.size();
  text_.resize(before + std::max(before, std::size_t{1} << 20));  // twice as much for long records
  text_.resize(before + file_->read(text_.data() + before, text_.size() - before));
  ended_ = text_.size() == before;
  return !ended_;
}

bool Records::next() {
  blanks_ = 0;
  do {
    if (!skip_to_record()) return false;
    line_ = next_line_;
    // A record that reaches the end of what is in memory may go on.
    while (true) {
      const std::size_t start = at_;
      split();
      if (!at_end() || exhausted()) break;
      at_ = start;
      next_line_ = line_;
      read_more();
    }
  } while (fields_.size() == 1 && fields_[0].text.empty() && !fields_[0].quoted);
  return true;
}

void Records::end_line() {
  if (at_end()) return;
  if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
  ++at_;
  ++next_line_;
}

/// Past line ends, blanks and comments; false at the end.
bool Records::skip_to_record() {
  while (true) {
    const std::size_t start = at_, line = next_line_;
    while (at_blank()) ++at_;
    const bool blank = at_line_end();
    if (!at_end() && text_[at_] == '#') {
      while (!at_line_end()) ++at_;
    }
    if (!at_line_end()) return true;
    end_line();
    if (!at_end()) {
      blanks_ += blank;
      continue;
    }
    if (exhausted()) return false;
    at_ = start;  // the line may go on
    next_line_ = line;
    read_more();
  }
}

void Records::split() {
  fields_.clear();
  while (true) {
    while (at_blank()) ++at_;
    if (fields_.size() == most_fields)
      throw refusal(path_, line_, "it has more than a million fields");
    fields_.push_back(!at_end() && text_[at_] == '"' ? quoted_field() : plain_field());
    if (at_line_end()) break;
    ++at_;
  }
  end_line();
}

Field Records::plain_field() {
  const std::size_t start = at_, size = text_.size();
  const char* text = text_.data();
  std::size_t at = start;
  while (at < size && text[at] != delimiter_ && text[at] != '\n' && text[at] != '\r') ++at;
  at_ = at;
  while (at > start && (text[at - 1] == ' ' || text[at - 1] == '\t')) --at;
  return {.text = std::string_view(text + start, at - start), .quoted = false};
}

Field Records::quoted_field() {
  const std::size_t start = ++at_;
  for (;; ++at_) {
    if (at_end() && !exhausted()) return {};  // it will be read again with what follows
    if (at_end()) throw refusal(path_, line_, "a quote is not closed");
    if (text_[at_] == '\n') ++next_line_;
    if (text_[at_] != '"') continue;
    if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
    ++at_;
  }
  std::string_view inside = std::string_view(text_).substr(start, at_ - start);
  ++at_;
  while (at_blank()) ++at_;
  if (!at_line_end() && text_[at_] != delimiter_) {
    throw refusal(path_, line_, "text follows a closing quote");
  }
  while (!inside.empty() && inside.front() == ' ') inside.remove_prefix(1);
  while (!inside.empty() && inside.back() == ' ') inside.remove_suffix(1);
  return {.text = inside, .quoted = true};
}

/// Tabs in a .tsv; otherwise the first of ; , tab that the first record has outside quotes. The
/// semicolon comes first since files with it may hold decimal commas, which can then be named.
char Records::find_delimiter() {
  if (is_tsv(path_)) return '\t';
  if (!skip_to_record()) return ',';
  bool semicolon = false, comma = false, tab = false, inside = false;
  for (; (!at_end() || read_more()) && (inside || !at_line_end()); ++at_) {
    if (text_[at_] == '"') inside = !inside;
    if (inside) continue;
    semicolon |= text_[at_] == ';';
    comma |= text_[at_] == ',';
    tab |= text_[at_] == '\t';
  }
  return semicolon ? ';' : comma ? ',' : tab ? '\t' : ',';
}

}  // namespace remblai::io
