// Names as flags, and guesses at what was meant.
#include "words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/options.h"
#include "remblai/predict.h"

namespace remblai::cli {
namespace {

/// Inputs that messages of the library name as they name options.
constexpr std::array<std::string_view, 5> input_names{
    "source-labels", "source-weights", "target-labels", "target-weights", "known-labels"};

}  // namespace

std::string flag_of(std::string_view name) {
  bool known = std::find(input_names.begin(), input_names.end(), name) != input_names.end();
  const auto look = [&](const char* option, const auto&, const char*) {
    known = known || option == name;
  };
  const Options options;
  for_each_option(options, look);
  const PredictOptions prediction;
  for_each_option(prediction, look);
  return fmt::format("{}{}", known ? "--" : "", name);
}

std::string words_of(const std::exception& error) {
  const auto* refused = dynamic_cast<const Error*>(&error);
  return refused ? refused->message().text(flag_of) : printable(error.what());
}

std::string suggestion(std::string_view text, const std::vector<std::string>& candidates) {
  const std::string nearest = io::nearest_name(text, candidates);
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

}  // namespace remblai::cli
