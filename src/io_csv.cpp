// Tables of numbers as text: comma, semicolon or tab, with or without a line of names, quotes,
// comments (#) and blank lines. One pass over the file in memory; numbers by std::from_chars.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "io_formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

struct Field {
  std::string_view text;  ///< without the blanks and quotes around it
  bool quoted = false;
};

enum class Parse { number, empty, out_of_range, text };

Parse parse_number(std::string_view text, double& value) {
  if (text.empty()) return Parse::empty;
  if (text[0] == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range && result.ptr == end) {
    // Too small becomes 0 and is taken; a long double tells it from too large.
    long double wide = 0;
    result = std::from_chars(text.data(), end, wide);
    value = static_cast<double>(wide);
    return result.ec == std::errc{} && value == 0 ? Parse::number : Parse::out_of_range;
  }
  return result.ec == std::errc{} && result.ptr == end ? Parse::number : Parse::text;
}

std::string unescaped(const Field& field) {
  std::string text(field.text);
  if (!field.quoted) return text;
  for (auto at = text.find("\"\""); at != std::string::npos; at = text.find("\"\"", at + 1)) {
    text.erase(at, 1);
  }
  return text;
}

/// The file in memory, taken apart one record after the other.
class Table {
 public:
  explicit Table(const std::string& path) : path_(path) {
    File file(path);
    text_.resize(static_cast<std::size_t>(file.size()));
    text_.resize(file.read(text_.data(), text_.size()));
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
      throw Error(path + ": the text is UTF-16; save it as UTF-8");
    }
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    choose_delimiter();
    const std::size_t start = at_;
    const std::size_t start_line = next_line_;
    if (!next()) throw Error(path + ": the file holds no numbers");
    width_ = fields_.size();
    first_line_ = line_;
    if (is_header()) {
      for (const Field& field : fields_) names_.push_back(unescaped(field));
    } else {
      at_ = start;
      next_line_ = start_line;
    }
  }

  /// Steps to the next record; false at the end. Throws Error when its length is not the first's.
  bool next() {
    do {
      if (!skip_to_record()) return false;
      line_ = next_line_;
      split();
    } while (fields_.size() == 1 && fields_[0].text.empty() && !fields_[0].quoted);
    if (width_ != 0 && fields_.size() != width_) {
      throw Error(fmt::format("{}: line {} has {} fields, line {} has {}; every line must have the "
                              "same number",
                              path_, line_, fields_.size(), first_line_, width_));
    }
    return true;
  }

  double number(std::size_t column) const {
    double value = 0;
    const Parse parse = parse_number(fields_[column].text, value);
    if (parse == Parse::number) return value;
    const std::string text = unescaped(fields_[column]);
    throw Error(fmt::format("{}: line {}, column {}{}: {}", path_, line_, column + 1,
                            names_.empty() ? "" : fmt::format(" ({})", quoted(names_[column])),
                            parse == Parse::empty          ? "the field is empty"
                            : parse == Parse::out_of_range ? quoted(text) + " is out of range"
                                                           : quoted(text) + " is not a number"));
  }

  bool is_number(std::size_t column) const {
    double value = 0;
    return parse_number(fields_[column].text, value) == Parse::number;
  }

  /// A name of the header, else an index from 0, or from the end when negative.
  std::size_t column(const std::string& wanted) const {
    const auto found = std::find(names_.begin(), names_.end(), wanted);
    if (found != names_.end()) {
      if (std::find(found + 1, names_.end(), wanted) != names_.end()) {
        throw Error(fmt::format("{}: two columns are called {}; take one by its index, from 0",
                                path_, quoted(wanted)));
      }
      return static_cast<std::size_t>(found - names_.begin());
    }
    long long index = 0;
    const char* end = wanted.data() + wanted.size();
    const auto parsed = std::from_chars(wanted.data(), end, index);
    if (parsed.ec == std::errc{} && parsed.ptr == end) {
      const auto width = static_cast<long long>(width_);
      if (index >= -width && index < width) {
        return static_cast<std::size_t>(index < 0 ? index + width : index);
      }
    }
    throw Error(fmt::format("{}: there is no column {}; {}", path_, quoted(wanted),
                            names_.empty()
                                ? fmt::format("the file has no line of names, columns are 0 to {}",
                                              width_ - 1)
                                : among(wanted, names_)));
  }

  std::size_t width() const { return width_; }
  std::size_t size() const { return text_.size(); }
  std::string name(std::size_t column) const {
    return names_.empty() ? std::to_string(column) : names_[column];
  }
  const std::string& path() const { return path_; }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  bool at_line_end() const { return at_end() || text_[at_] == '\n' || text_[at_] == '\r'; }
  bool at_blank() const {
    return !at_end() && (text_[at_] == ' ' || (text_[at_] == '\t' && delimiter_ != '\t'));
  }

  void end_line() {
    if (at_end()) return;
    if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    ++at_;
    ++next_line_;
  }

  /// Past line ends, blanks and comments; false at the end.
  bool skip_to_record() {
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

  void split() {
    fields_.clear();
    while (true) {
      while (at_blank()) ++at_;
      fields_.push_back(!at_end() && text_[at_] == '"' ? quoted_field() : plain_field());
      if (at_line_end()) break;
      ++at_;
    }
    end_line();
  }

  Field plain_field() {
    const std::size_t start = at_;
    const std::size_t size = text_.size();
    const char* text = text_.data();
    while (at_ < size && text[at_] != delimiter_ && text[at_] != '\n' && text[at_] != '\r') ++at_;
    std::size_t end = at_;
    while (end > start && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
    return {.text = std::string_view(text + start, end - start), .quoted = false};
  }

  Field quoted_field() {
    const std::size_t start = ++at_;
    for (;; ++at_) {
      if (at_end()) throw Error(fmt::format("{}: line {}: a quote is not closed", path_, line_));
      if (text_[at_] == '\n') ++next_line_;
      if (text_[at_] != '"') continue;
      if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
      ++at_;
    }
    std::string_view inside = std::string_view(text_).substr(start, at_ - start);
    ++at_;
    while (at_blank()) ++at_;
    if (!at_line_end() && text_[at_] != delimiter_) {
      throw Error(fmt::format("{}: line {}: text follows a closing quote", path_, line_));
    }
    while (!inside.empty() && inside.front() == ' ') inside.remove_prefix(1);
    while (!inside.empty() && inside.back() == ' ') inside.remove_suffix(1);
    return {.text = inside, .quoted = true};
  }

  /// A .tsv has tabs; otherwise the first of ; , tab that the first record has outside quotes. The
  /// semicolon comes first since files with it may hold decimal commas.
  void choose_delimiter() {
    const std::size_t start = at_, start_line = next_line_;
    const bool found = skip_to_record();
    bool semicolon = false, comma = false, tab = false, inside = false;
    for (; found && (inside || !at_line_end()) && !at_end(); ++at_) {
      if (text_[at_] == '"') inside = !inside;
      if (inside) continue;
      semicolon |= text_[at_] == ';';
      comma |= text_[at_] == ',';
      tab |= text_[at_] == '\t';
    }
    const bool tsv = path_.ends_with(".tsv") || path_.ends_with(".TSV");
    delimiter_ = tsv && tab ? '\t' : semicolon ? ';' : comma ? ',' : tab ? '\t' : ',';
    at_ = start;
    next_line_ = start_line;
  }

  /// Text that is no number, or an empty first corner, as data frames write above their row names.
  bool is_header() const {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      double value = 0;
      const Parse parse = parse_number(fields_[i].text, value);
      if (parse == Parse::text) return true;
      if (parse == Parse::empty && i == 0 && fields_.size() > 1) return true;
    }
    return false;
  }

  std::string path_;
  std::string text_;
  std::size_t at_ = 0;
  std::size_t next_line_ = 1;
  std::size_t line_ = 0;  ///< where the present record starts
  std::size_t first_line_ = 0;
  std::size_t width_ = 0;  ///< 0 until the first record is known
  char delimiter_ = ',';
  std::vector<std::string> names_;  ///< empty without a header
  std::vector<Field> fields_;
};

}  // namespace

std::vector<Entry> list_csv(const std::string& path) {
  Table table(path);
  std::vector<bool> text(table.width(), false);
  Index rows = 0;
  for (; table.next(); ++rows) {
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = text[i] || !table.is_number(i);
  }
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < text.size(); ++i) {
    entries.push_back({.name = table.name(i),
                       .type = text[i] ? "text" : "number",
                       .shape = {rows},
                       .refusal = ""});
  }
  return entries;
}

Array read_csv(const std::string& path, const std::string& only, const std::string& without) {
  Table table(path);
  std::vector<std::size_t> columns;
  if (!only.empty()) {
    columns.push_back(table.column(only));
  } else {
    const std::size_t left_out = without.empty() ? table.width() : table.column(without);
    for (std::size_t i = 0; i < table.width(); ++i) {
      if (i != left_out) columns.push_back(i);
    }
  }
  if (columns.empty()) throw Error(fmt::format("{}: no column is left besides {}", path, quoted(without)));
  std::vector<double> numbers;
  while (table.next()) {
    for (const std::size_t column : columns) numbers.push_back(table.number(column));
  }
  const auto cols = static_cast<Index>(columns.size());
  const auto rows = static_cast<Index>(numbers.size()) / cols;
  if (rows == 0) throw Error(path + ": the file has names but no numbers");
  return {.name = only.empty() ? "" : table.name(columns[0]),
          .type = "number",
          .shape = {rows, cols},
          .values = Eigen::Map<const Matrix>(numbers.data(), rows, cols)};
}

}  // namespace remblai::io
