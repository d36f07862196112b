// What went wrong, as data: the front ends of the library (C++, command line, Python) put it into
// words with the names that their users typed.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "remblai/api.h"

namespace remblai {

/// The name of an option or input, as a front end spells it: "ridge" is --ridge, ridge= or
/// Options::ridge. Names it does not know are returned as they are.
using Spelling = std::function<std::string(std::string_view name)>;

/// A fault and its remedy. In `problem` and `remedy` the names of options and inputs are written
/// $ridge, $source-labels; text from outside goes into `value`, or through literal().
struct REMBLAI_API Message {
  std::string field = {};    ///< what is at fault, by its name in for_each_option; may be empty
  std::string value = {};    ///< the value it had; may be empty
  std::string problem = {};  ///< what is wrong with it
  std::string remedy = {};   ///< what to do about it; may be empty
  int code = 0;              ///< errno, where the system refused a file; else 0

  /// "field: value problem; remedy" with every name spelled by `spelling`. The value is never
  /// searched for names.
  std::string text(const Spelling& spelling) const;
  std::string text() const;  ///< in the words of C++: Options::ridge

  bool operator==(const Message&) const = default;
};

/// Text from outside, as `problem` and `remedy` take it: what looks like a name in it is left
/// alone.
REMBLAI_API std::string literal(std::string_view text);

/// Text from outside, as a terminal may see it: controls, marks that turn the direction of writing
/// and bytes that are no UTF-8 are escaped by their number. What is longer than `longest`
/// characters is cut and ends in "...". Message::text passes everything through it.
REMBLAI_API std::string printable(std::string_view text,
                                  std::size_t longest = std::string_view::npos);

/// The one exception of the library: the caller gave something that cannot be used. Numerical
/// trouble is never thrown; it is a Status in the result (model.h). what() is message().text().
class REMBLAI_API Error : public std::runtime_error {
 public:
  explicit Error(Message message);
  /// A sentence. A template, so that braces always make a Message.
  template <std::convertible_to<std::string> Text>
  explicit Error(const Text& text) : Error(Message{.problem = text}) {}

  const Message& message() const { return message_; }

 private:
  Message message_;
};

}  // namespace remblai
