// Delimited text in memory, taken apart one record after the other; numbers by std::from_chars.
// Fields point into the text: nothing is copied until a message needs it.
#include "io/csv_tokens.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

Error refusal(const std::string& path, std::size_t line, const char* cause) {
  return Error({.problem = fmt::format("{}: line {}: {}", literal(path), line, cause)});
}

}  // namespace

std::string Field::unescaped() const {
  std::string result(text);
  if (!quoted) return result;
  for (auto at = result.find("\"\""); at != std::string::npos; at = result.find("\"\"", at + 1)) {
    result.erase(at, 1);
  }
  return result;
}

Parse parse_number(std::string_view text, double& value) {
  if (text.empty()) return Parse::empty;
  if (text[0] == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range && result.ptr == end) {
    // A number too small becomes 0 and is taken; a long double tells it from one too large.
    long double wide = 0;
    result = std::from_chars(text.data(), end, wide);
    value = static_cast<double>(wide);
    return result.ec == std::errc{} && std::abs(value) < 1 ? Parse::number : Parse::out_of_range;
  }
  return result.ec == std::errc{} && result.ptr == end ? Parse::number : Parse::text;
}

Records::Records(const std::string& path) : path_(path) {
  File file(path);
  text_.resize(static_cast<std::size_t>(file.size()));
  text_.resize(file.read(text_.data(), text_.size()));
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
    throw Error({.problem = literal(path) + ": the text is UTF-16", .remedy = "save it as UTF-8"});
  }
  restart();
  delimiter_ = find_delimiter();
  restart();
}

void Records::restart() {
  at_ = text_.starts_with("\xef\xbb\xbf") ? 3 : 0;
  next_line_ = 1;
}

bool Records::next() {
  do {
    if (!skip_to_record()) return false;
    line_ = next_line_;
    split();
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
  while (!at_end()) {
    while (at_blank()) ++at_;
    if (at_end()) return false;
    if (text_[at_] == '#') {
      while (!at_line_end()) ++at_;
    }
    if (!at_line_end()) return true;
    end_line();
  }
  return false;
}

void Records::split() {
  fields_.clear();
  while (true) {
    while (at_blank()) ++at_;
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
/// semicolon comes first since files with it may hold decimal commas.
char Records::find_delimiter() {
  if (!skip_to_record()) return ',';
  bool semicolon = false, comma = false, tab = false, inside = false;
  for (; !at_end() && (inside || !at_line_end()); ++at_) {
    if (text_[at_] == '"') inside = !inside;
    if (inside) continue;
    semicolon |= text_[at_] == ';';
    comma |= text_[at_] == ',';
    tab |= text_[at_] == '\t';
  }
  const bool tsv = path_.ends_with(".tsv") || path_.ends_with(".TSV");
  return tsv && tab ? '\t' : semicolon ? ';' : comma ? ',' : tab ? '\t' : ',';
}

}  // namespace remblai::io
