// Tables of numbers as text: the line of names, columns by name or index, and what is said when a
// field is not a number. csv_tokens.cpp takes the text apart.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "io/csv_tokens.h"
#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

/// What the first record is: names, numbers, or numbers among which something else stands.
enum class First { names, numbers, mixed };

/// The first corner of names may be empty, as data frames leave it above their row names. Beside
/// text one 0 may be a label; two numbers that count are not.
First kind_of(const std::vector<Field>& fields) {
  const bool corner = fields[0].text.empty();
  bool text = false, names = false, counting = true;
  double numbers = 0;
  for (const Field& field : fields) {
    double value = 0;
    const Parse parse = parse_number(field.text, value);
    if (parse == Parse::empty) continue;
    if (parse == Parse::text) {
      text = true;
      names = names || !is_missing_word(field.text);
    } else {
      counting = counting && parse == Parse::number && value == numbers;
      ++numbers;
    }
  }
  if (numbers == 0 && text) return names ? First::names : First::numbers;
  if (!text && !corner) return First::numbers;
  return counting && (!text || (names && numbers > 1)) ? First::names : First::mixed;
}

constexpr const char* naming = "a header must name every column, and not by a number";
constexpr const char* pointing =
    "write numbers with a point and without blanks, and names without a comma between digits";

class Table {
 public:
  explicit Table(const std::string& path) : path_(path), records_(path) {
    if (!records_.next()) throw Error({.problem = literal(path) + ": the file holds no numbers"});
    width_ = records_.fields().size();
    first_line_ = records_.line();
    first_ = kind_of(records_.fields());
    if (first_ == First::names) {
      refuse_written_numbers();
      names_.reserve(width_);
      for (const Field& field : records_.fields()) names_.push_back(field.unescaped());
    } else {
      records_.restart();
    }
  }

  /// Steps to the next record; false at the end. Throws Error when its length is not the first's.
  bool next() {
    if (!records_.next()) return false;
    const std::size_t count = records_.fields().size();
    if (count == width_) return true;
    throw Error(
        {.problem = fmt::format("{}: line {} has {} field{}, line {} has {}", literal(path_),
                                records_.line(), count, count == 1 ? "" : "s", first_line_, width_),
         .remedy = "every line must have the same number"});
  }

  double number(std::size_t column, Missing missing) const {
    double value = 0;
    const Field& field = records_.fields()[column];
    const Parse parse = parse_number(field.text, value);
    if (parse == Parse::number && std::isfinite(value)) return value;
    const bool none = parse == Parse::empty || (parse == Parse::number && std::isnan(value));
    if (missing != Missing::refused && none) return std::numeric_limits<double>::quiet_NaN();
    const std::string text = in_quotes(field.unescaped());
    const std::string place =
        names_.empty() ? fmt::format("column {}", column + 1)
                       : fmt::format("column {} ({})", column + 1, in_quotes(names_[column]));
    const bool in_first = first_ == First::mixed && records_.line() == first_line_;
    const std::string what = parse == Parse::empty    ? "the field is empty"
                             : parse == Parse::number ? text + "; only finite numbers are taken"
                             : parse == Parse::text   ? text + " is not a number"
                                                      : text + " is out of range";
    throw Error({.problem = literal(
                     fmt::format("{}: line {}, {}: {}", path_, records_.line(), place, what)),
                 .remedy = in_first                        ? naming
                           : has_decimal_comma(field.text) ? pointing
                                                           : ""});
  }

  /// Throws Error when the present record is a first one of names and numbers. Its text was left
  /// out then, and what may be a header would become a point.
  void require_no_names() const {
    if (first_ != First::mixed || records_.line() != first_line_) return;
    throw Error(
        {.problem = fmt::format("{}: line {} mixes names and numbers", literal(path_), first_line_),
         .remedy = fmt::format("{}; if there is none, put one above", naming)});
  }

  /// On from this byte, before which so many lines stand.
  void go_to(Index byte, Index lines) {
    records_.go_to(static_cast<std::uint64_t>(byte), static_cast<std::size_t>(lines) + 1);
  }

  const Records& records() const { return records_; }
  std::size_t blanks() const { return records_.blanks(); }

  bool is_number(std::size_t column) const {
    double value = 0;
    return parse_number(records_.fields()[column].text, value) == Parse::number;
  }

  /// A name of the header, else an index from 0, or from the end when negative.
  std::size_t column(const std::string& wanted) const {
    const auto found = std::find(names_.begin(), names_.end(), wanted);
    if (found != names_.end()) {
      if (std::find(found + 1, names_.end(), wanted) != names_.end()) {
        throw Error({.problem = literal(
                         fmt::format("{}: two columns are called {}", path_, in_quotes(wanted))),
                     .remedy = "take one by its index, from 0"});
      }
      return static_cast<std::size_t>(found - names_.begin());
    }
    long long index = 0;
    const char* end = wanted.data() + wanted.size();
    const auto parsed = std::from_chars(wanted.data(), end, index);
    const auto width = static_cast<long long>(width_);
    if (parsed.ec == std::errc{} && parsed.ptr == end && index >= -width && index < width) {
      return static_cast<std::size_t>(index < 0 ? index + width : index);
    }
    const std::string indices = fmt::format("columns are 0 to {}", width_ - 1);
    const std::string there = first_ == First::names ? among(wanted, names_)
                              : first_ == First::numbers
                                  ? "the file has no line of names, " + indices
                                  : fmt::format(
                                        "line {} mixes names and numbers "
                                        "({}), {}",
                                        first_line_, naming, indices);
    throw Error(
        {.problem = literal(fmt::format("{}: there is no column {}", path_, in_quotes(wanted))),
         .remedy = literal(there)});
  }

  std::string name(std::size_t column) const {
    return names_.empty() ? std::to_string(column) : names_[column];
  }

  std::size_t width() const { return width_; }
  bool named() const { return !names_.empty(); }

 private:
  /// A first line of numbers as people write them would be taken for names, and cost a point.
  void refuse_written_numbers() const {
    const std::vector<Field>& fields = records_.fields();
    const bool grouped = std::all_of(fields.begin(), fields.end(), [](const Field& field) {
      return field.text.empty() || is_grouped_number(field.text);
    });
    for (const Field& field : fields) {
      double value = 0;
      if (!has_decimal_comma(field.text) &&
          !(grouped && parse_number(field.text, value) == Parse::text))
        continue;
      throw Error({.problem = literal(fmt::format("{}: line {}: {} is not a number", path_,
                                                  first_line_, in_quotes(field.text))),
                   .remedy = pointing});
    }
  }

  std::string path_;
  Records records_;
  std::size_t first_line_ = 0;
  std::size_t width_ = 0;
  First first_ = First::numbers;
  std::vector<std::string> names_;  ///< empty without a header
};

std::vector<std::size_t> chosen_columns(const Table& table, const std::string& path,
                                        const std::string& only,
                                        const std::vector<std::string>& without) {
  std::vector<std::size_t> columns;
  if (!only.empty()) {
    columns.push_back(table.column(only));
  } else {
    std::vector<bool> left_out(table.width(), false);
    for (const std::string& column : without) left_out[table.column(column)] = true;
    columns.reserve(table.width());
    for (std::size_t i = 0; i < table.width(); ++i) {
      if (!left_out[i]) columns.push_back(i);
    }
  }
  if (columns.empty()) {
    throw Error(
        {.problem = literal(fmt::format("{}: no column is left besides {}", path,
                                        in_quotes(fmt::format("{}", fmt::join(without, ", ")))))});
  }
  return columns;
}

}  // namespace

void visit_csv(const std::string& path, const TakeEntry& take) {
  Table table(path);
  std::vector<bool> text(table.width(), false);
  Index rows = 0;
  for (; table.next(); ++rows) {
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = text[i] || !table.is_number(i);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string name = table.name(i);
    take({.name = name, .type = text[i] ? "text" : "number", .shape = {rows}, .refusal = ""},
         [&] { return read_csv(path, name, {}, Missing::allowed, {}); });
  }
}

std::vector<Entry> list_csv(const std::string& path) {
  std::vector<Entry> entries;
  visit_csv(path, [&](const Entry& entry, const auto&) { entries.push_back(entry); });
  return entries;
}

Index count_csv(const std::string& path) {
  Table table(path);
  Index rows = 0;
  while (table.next()) ++rows;
  return rows;
}

// Byte by byte: what stands between two line ends matters only as far as its first character.
TextPart part_of_csv(const std::string& path, int part, int parts) {
  const Table table(path);
  const char delimiter = table.records().delimiter();
  File file(path);
  // What stands behind the names is divided.
  const std::uint64_t start = table.records().byte(), size = file.size() - start;
  const auto place = [&](int k) {
    const auto count = static_cast<std::uint64_t>(parts), before = static_cast<std::uint64_t>(k);
    return start + size / count * before + size % count * before / count;
  };
  const std::uint64_t begin = place(part), end = place(part + 1);
  TextPart found;
  found.byte = part == 0 ? 0 : static_cast<Index>(end);
  if (part == 0) found.lines = static_cast<Index>(table.records().lines());
  std::vector<char> block(std::size_t{1} << 20);
  std::uint64_t at = begin > 0 ? begin - 1 : 0;
  file.skip(at);
  char before = '\n';
  bool open = false;      // a line of which only blanks were seen
  bool first = part > 0;  // the first line of this part was not met yet
  for (std::size_t count = file.read(block.data(), block.size()); count > 0;
       count = file.read(block.data(), block.size())) {
    for (std::size_t i = 0; i < count; ++i, ++at) {
      const char c = block[i];
      const bool starts = at == start || before == '\n' || (before == '\r' && c != '\n');
      before = c;
      if (at < begin) continue;
      if (at >= end && (starts || !open)) return found;
      if (starts) {
        if (std::exchange(first, false)) found.byte = static_cast<Index>(at);
        ++found.lines;
        open = true;
      }
      found.quotes = found.quotes || c == '"';
      if (!open || c == ' ' || (c == '\t' && delimiter != '\t')) continue;
      open = false;
      if (c != '#' && c != '\n' && c != '\r') ++found.points;
    }
  }
  return found;
}

Array read_csv(const std::string& path, const std::string& only,
               const std::vector<std::string>& without, Missing missing, const RowRange& wanted) {
  Table table(path);
  const std::vector<std::size_t> columns = chosen_columns(table, path, only, without);
  std::vector<double> numbers;
  numbers.reserve(columns.size());
  Index record = wanted.points_before;
  if (wanted.byte > 0) table.go_to(wanted.byte, wanted.lines_before);
  for (; (wanted.whole() || record < wanted.first + wanted.count) && table.next(); ++record) {
    if (record < wanted.first) continue;
    // At the end it is none.
    const bool fields = missing == Missing::blank_lines_too && table.width() == 1;
    for (std::size_t k = fields ? table.blanks() : 0; k > 0; --k, ++record)
      numbers.push_back(std::numeric_limits<double>::quiet_NaN());
    for (const std::size_t column : columns) numbers.push_back(table.number(column, missing));
    table.require_no_names();
  }
  const auto cols = static_cast<Index>(columns.size());
  const auto rows = static_cast<Index>(numbers.size()) / cols;
  if (wanted.whole() && record == 0)
    throw Error({.problem = literal(path) + ": the file has names but no numbers"});
  return {.name = only.empty() ? "" : table.name(columns[0]),
          .type = "number",
          .shape = {record, cols},
          .values = Eigen::Map<const Matrix>(numbers.data(), rows, cols)};
}

std::vector<std::string> names_csv(const std::string& path, const std::string& only,
                                   const std::vector<std::string>& without) {
  const Table table(path);
  std::vector<std::string> names;
  if (!table.named()) return names;
  for (const std::size_t column : chosen_columns(table, path, only, without))
    names.push_back(table.name(column));
  return names;
}

}  // namespace remblai::io
