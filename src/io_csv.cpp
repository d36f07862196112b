// Tables of numbers as text: the line of names, columns by name or index, and what is said when a
// field is not a number. io_records.cpp takes the text apart.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "io_formats.h"
#include "io_records.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

/// The names are the first record when it has text that is no number, or an empty first corner, as
/// data frames write above their row names.
bool is_header(const std::vector<Field>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    double value = 0;
    const Parse parse = parse_number(fields[i].text, value);
    if (parse == Parse::text) return true;
    if (parse == Parse::empty && i == 0 && fields.size() > 1) return true;
  }
  return false;
}

class Table {
 public:
  explicit Table(const std::string& path) : path_(path), records_(path) {
    if (!records_.next()) throw Error(path + ": the file holds no numbers");
    width_ = records_.fields().size();
    first_line_ = records_.line();
    if (is_header(records_.fields())) {
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
    throw Error(fmt::format(
        "{}: line {} has {} field{}, line {} has {}; every line must have the same number", path_,
        records_.line(), count, count == 1 ? "" : "s", first_line_, width_));
  }

  double number(std::size_t column) const {
    double value = 0;
    const Field& field = records_.fields()[column];
    const Parse parse = parse_number(field.text, value);
    if (parse == Parse::number && std::isfinite(value)) return value;
    const std::string text = in_quotes(field.unescaped());
    throw Error(fmt::format("{}: line {}, column {}{}: {}", path_, records_.line(), column + 1,
                            names_.empty() ? "" : fmt::format(" ({})", in_quotes(names_[column])),
                            parse == Parse::empty    ? "the field is empty"
                            : parse == Parse::number ? text + "; only finite numbers are taken"
                            : parse == Parse::text   ? text + " is not a number"
                                                     : text + " is out of range"));
  }

  bool is_number(std::size_t column) const {
    double value = 0;
    return parse_number(records_.fields()[column].text, value) == Parse::number;
  }

  /// A name of the header, else an index from 0, or from the end when negative.
  std::size_t column(const std::string& wanted) const {
    const auto found = std::find(names_.begin(), names_.end(), wanted);
    if (found != names_.end()) {
      if (std::find(found + 1, names_.end(), wanted) != names_.end()) {
        throw Error(fmt::format("{}: two columns are called {}; take one by its index, from 0",
                                path_, in_quotes(wanted)));
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
    throw Error(fmt::format(
        "{}: there is no column {}; {}", path_, in_quotes(wanted),
        names_.empty()
            ? fmt::format("the file has no line of names, columns are 0 to {}", width_ - 1)
            : among(wanted, names_)));
  }

  std::string name(std::size_t column) const {
    return names_.empty() ? std::to_string(column) : names_[column];
  }

  std::size_t width() const { return width_; }

 private:
  std::string path_;
  Records records_;
  std::size_t first_line_ = 0;
  std::size_t width_ = 0;
  std::vector<std::string> names_;  ///< empty without a header
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
  if (columns.empty()) {
    throw Error(fmt::format("{}: no column is left besides {}", path, in_quotes(without)));
  }
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
