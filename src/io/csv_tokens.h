// Delimited text, taken apart one record after the other; csv.cpp gives it meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/formats.h"

namespace remblai::io {

struct Field {
  std::string_view text;  ///< without the blanks and quotes around it; until the next record
  bool quoted = false;    ///< a quote inside is still written twice

  std::string unescaped() const;
};

enum class Parse { number, empty, out_of_range, text };

/// The whole text as a number; NaN and infinities are numbers here. Never depends on the locale.
Parse parse_number(std::string_view text, double& value);

/// A number but for a comma in place of the point, as some countries write it.
bool has_decimal_comma(std::string_view text);

/// Digits with blanks, points and commas among them: "1 000", "1.000,5".
bool is_grouped_number(std::string_view text);

/// "NA", "?" and the like, which stand for a number that is missing.
bool is_missing_word(std::string_view text);

/// Comma, semicolon or tab between fields; quotes; lines ended by LF, CRLF or CR. Blank lines and
/// lines that start with # are left out. Of the file a few records are in memory at a time.
class Records {
 public:
  /// Throws Error when the file cannot be read.
  explicit Records(const std::string& path);

  /// Steps to the next record; false at the end. Throws Error when a quote is not closed.
  bool next();

  /// Back to before the first record.
  void restart();

  /// On from this byte, where this line begins.
  void go_to(std::uint64_t byte, std::size_t line);

  char delimiter() const { return delimiter_; }
  std::uint64_t byte() const { return before_ + at_; }  ///< where the next record is looked for
  std::size_t lines() const { return next_line_ - 1; }  ///< that stand before it
  const std::vector<Field>& fields() const { return fields_; }
  std::size_t line() const { return line_; }      ///< where the record starts, from 1
  std::size_t blanks() const { return blanks_; }  ///< blank lines between it and the one before

 private:
  bool at_end() const { return at_ >= text_.size(); }
  bool at_line_end() const { return at_end() || text_[at_] == '\n' || text_[at_] == '\r'; }
  bool at_blank() const {
    return !at_end() && (text_[at_] == ' ' || (text_[at_] == '\t' && delimiter_ != '\t'));
  }
  bool exhausted() const { return ended_ || file_->remaining() == 0; }
  bool read_more();
  void end_line();
  bool skip_to_record();
  void split();
  Field plain_field();
  Field quoted_field();
  char find_delimiter();

  std::string path_;
  std::optional<File> file_;
  std::uint64_t before_ = 0;  // bytes of the file before this text
  bool ended_ = false;        // before its size was reached
  std::string text_;          // that was read and not yet left behind
  std::size_t at_ = 0;
  std::size_t next_line_ = 1;
  std::size_t line_ = 0;
  std::size_t blanks_ = 0;
  char delimiter_ = ',';
  std::vector<Field> fields_;
};

}  // namespace remblai::io
