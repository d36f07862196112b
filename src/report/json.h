// Options, history and status as JSON: the same words in reports and in model files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "remblai/error.h"
#include "remblai/model.h"
#include "remblai/predict.h"

namespace remblai {

using Json = nlohmann::ordered_json;

/// Text from a file. Throws nlohmann's exceptions on what is no JSON, and on values that lie deeper
/// than 64 lists and objects: the library copies and writes a value by recursion.
Json parsed(std::string_view text);

/// A number; null when it is not finite.
Json number(double value);

/// The message as `spelling` has it, or in the words of C++ where that is empty.
std::string words(const Message& message, const Spelling& spelling);

/// Of a metric that was made with another weight than the options say; else empty.
std::string weight_text(const Model& model);

Json options_json(const Options& options);
Json options_json(const PredictOptions& options);
Json history_json(const std::vector<Step>& history);

/// The inverse for a fit; null reads as NaN, and what is no option of it is ignored: files of
/// version 0.1 hold those of the nearest-neighbour rule, too. Throws nlohmann's exceptions on other
/// content.
Options options_from(const Json& json);
std::vector<Step> history_from(const Json& json);

/// The value of an enum from its name; throws Error when there is no such name.
template <class Enum>
Enum enum_from(std::string_view text) {
  constexpr auto all = names(Enum{});
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] == text) return static_cast<Enum>(i);
  throw Error({.problem = "unknown name '" + literal(text) + "'"});
}

}  // namespace remblai
