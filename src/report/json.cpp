// One list of the fields of a step serves writing and reading.
#include "report/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "remblai/error.h"

namespace remblai {
namespace {

template <class StepType, class Visitor>
void for_each_field(StepType& s, Visitor&& visit) {
  visit("step", s.step);
  visit("objective", s.objective);
  visit("transport_cost", s.transport_cost);
  visit("entropy", s.entropy);
  visit("relaxation", s.relaxation);
  visit("mass", s.mass);
  visit("prior_term", s.prior_term);
  visit("ridge_term", s.ridge_term);
  visit("source_error", s.source_error);
  visit("target_error", s.target_error);
  visit("duality_gap", s.duality_gap);
  visit("riccati_residual", s.riccati_residual);
  visit("metric_change", s.metric_change);
  visit("distance_change", s.distance_change);
  visit("condition", s.condition);
  visit("inner_iterations", s.inner_iterations);
  visit("rejected", s.rejected);
  visit("inner_converged", s.inner_converged);
  visit("seconds", s.seconds);
}

template <class Choice>
Json value_json(const ChoiceOrMatrix<Choice>& value) {
  return name(value);
}

template <class T>
Json value_json(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return name(value);
  else if constexpr (std::is_same_v<T, double>)
    return number(value);
  else
    return value;
}

// A number of any size may stand in a file; the library would cast it.
int int_from(const Json& json) {
  const bool fits = json.is_number_unsigned()
                        ? std::in_range<int>(json.get<std::uint64_t>())
                        : json.is_number_integer() && std::in_range<int>(json.get<std::int64_t>());
  if (!fits)
    throw Error({.value = json.is_number() ? json.dump() : json.type_name(),
                 .problem = "is not a whole number of its kind"});
  return json.get<int>();
}

template <class Choice>
void read_value(const Json& json, ChoiceOrMatrix<Choice>& value) {
  value = enum_from<Choice>(json.get<std::string>());
}

template <class T>
void read_value(const Json& json, T& value) {
  if constexpr (std::is_enum_v<T>)
    value = enum_from<T>(json.get<std::string>());
  else if constexpr (std::is_same_v<T, double>)
    value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
  else if constexpr (std::is_same_v<T, int>)
    value = int_from(json);
  else
    json.get_to(value);
}

template <class OptionsType>
Json list_json(const OptionsType& options) {
  Json json;
  for_each_option(options, [&](const char* key, const auto& value, const char*) {
    json[key] = value_json(value);
  });
  return json;
}

}  // namespace

Json parsed(std::string_view text) {
  static constexpr int deepest = 64;
  return Json::parse(text, [](int depth, Json::parse_event_t, Json& value) {
    if (depth > deepest)
      throw Json::other_error::create(
          501, fmt::format("lists and objects are nested deeper than {}", deepest), &value);
    return true;
  });
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

std::string words(const Message& message, const Spelling& spelling) {
  return spelling ? message.text(spelling) : message.text();
}

Json options_json(const Options& options) {
  return list_json(options);
}

Json options_json(const PredictOptions& options) {
  return list_json(options);
}

Options options_from(const Json& json) {
  Options options;
  for_each_option(options, [&](const char* key, auto& value, const char*) {
    if (json.contains(key)) read_value(json.at(key), value);  // older files have fewer options
  });
  return options;
}

Json history_json(const std::vector<Step>& history) {
  Json list = Json::array();
  for (const Step& step : history) {
    Json record;
    for_each_field(step,
                   [&](const char* key, const auto& value) { record[key] = value_json(value); });
    list.push_back(record);
  }
  return list;
}

std::vector<Step> history_from(const Json& json) {
  std::vector<Step> history;
  for (const Json& record : json) {
    Step step;
    for_each_field(step, [&](const char* key, auto& value) {
      if (record.contains(key)) read_value(record.at(key), value);  // older files have fewer fields
    });
    history.push_back(step);
  }
  return history;
}

}  // namespace remblai
