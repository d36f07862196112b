// The range of every option, and the one list that command line, report and files are made from.
#include "remblai/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <type_traits>

#include "remblai/model.h"
#include "support.h"

namespace remblai {
namespace {

using test::contains;
using test::message_of;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string complaint(const Options& options) {
  return message_of([&] { options.validate(); });
}

// Sets one option through the list; returns what validate says.
std::string with(const std::string& name, double value) {
  Options options;
  bool found = false;
  for_each_option(options, [&](const std::string& key, auto& field, const char*) {
    using Field = std::remove_reference_t<decltype(field)>;
    if constexpr (!std::is_enum_v<Field>)
      if (key == name) {
        field = static_cast<Field>(value);
        found = true;
      }
  });
  EXPECT_TRUE(found) << name;
  return complaint(options);
}

TEST(Options, defaults_are_valid) {
  EXPECT_EQ(complaint(Options{}), "");
}

TEST(Options, takes_the_ends_of_every_range) {
  for (const char* name : {"prior-ridge", "lambda", "ridge", "outer-tolerance"}) {
    EXPECT_EQ(with(name, 0), "") << name;
    EXPECT_EQ(with(name, 1e300), "") << name;
  }
  for (const char* name : {"geodesic", "tolerance"}) {
    EXPECT_EQ(with(name, 1e-12), "") << name;
    EXPECT_EQ(with(name, 0.999999), "") << name;
  }
  for (const char* name : {"steps", "neighbours"}) EXPECT_EQ(with(name, 1), "") << name;
  EXPECT_EQ(with("threads", 0), "");
  EXPECT_EQ(with("threads", 1024), "");
  EXPECT_EQ(with("seed", 0), "");
}

TEST(Options, refuses_what_is_out_of_range_by_name) {
  const auto refused = [](const char* name, double value) {
    const std::string message = with(name, value);
    EXPECT_EQ(message.rfind(std::string(name) + ":", 0), 0u)
        << name << " " << value << ": " << message;
    EXPECT_TRUE(contains(message, "must be")) << message;
  };
  for (const char* name : {"prior-ridge", "lambda", "ridge", "outer-tolerance"})
    for (const double value : {-1e-300, -infinity, infinity, nan}) refused(name, value);
  for (const char* name : {"geodesic", "tolerance"})
    for (const double value : {0.0, 1.0, -0.5, 2.0, infinity, nan}) refused(name, value);
  for (const char* name : {"steps", "neighbours"})
    for (const double value : {0.0, -1.0, -2147483648.0}) refused(name, value);
  refused("threads", -1);
  refused("threads", 1025);
  refused("seed", -1);
}

TEST(Options, message_gives_the_value) {
  EXPECT_TRUE(contains(with("geodesic", 1.25), "1.25"));
  EXPECT_TRUE(contains(with("steps", -3), "-3"));
}

TEST(Options, list_has_every_field_once) {
  Options options;
  std::set<std::string> keys;
  std::set<const void*> fields;
  std::size_t bytes = 0;
  int visits = 0;
  for_each_option(options, [&](const std::string& key, auto& field, const std::string& help) {
    ++visits;
    keys.insert(key);
    fields.insert(&field);
    bytes += sizeof field;
    EXPECT_FALSE(help.empty()) << key;
    EXPECT_EQ(key.find('_'), std::string::npos) << key;
    const char* first = reinterpret_cast<const char*>(&options);
    const char* place = reinterpret_cast<const char*>(&field);
    EXPECT_TRUE(place >= first && place < first + sizeof options) << key;
  });
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(visits));
  EXPECT_EQ(fields.size(), static_cast<std::size_t>(visits));
  // A field that the list forgot would leave more room than padding can explain.
  EXPECT_LE(bytes, sizeof options);
  EXPECT_GT(bytes + 4 * 5, sizeof options);
}

TEST(Options, list_of_a_constant_gives_the_same_values) {
  Options options;
  options.neighbours = 5;
  options.lambda = 0.25;
  const Options& constant = options;
  int seen = 0;
  for_each_option(constant, [&](const std::string& key, const auto& field, const char*) {
    if constexpr (std::is_same_v<decltype(field), const int&>) {
      if (key == "neighbours") seen += field == 5;
    } else if constexpr (std::is_same_v<decltype(field), const double&>) {
      if (key == "lambda") seen += field == 0.25;
    }
  });
  EXPECT_EQ(seen, 2);
}

template <class Enum>
void expect_unique_names(Enum last) {
  const auto all = names(Enum{});
  const std::set<std::string_view> unique(all.begin(), all.end());
  EXPECT_EQ(unique.size(), all.size());
  EXPECT_FALSE(unique.contains(""));
  EXPECT_EQ(static_cast<std::size_t>(last) + 1, all.size());
  EXPECT_EQ(name(last), all.back());
  for (const std::string_view text : all)
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), text.npos) << text;
}

TEST(Options, enums_have_one_name_for_each_value) {
  expect_unique_names(MetricChoice::given);
  expect_unique_names(PriorChoice::given);
  expect_unique_names(Unit::absolute);
  expect_unique_names(KnnMetric::euclidean);
  expect_unique_names(Preprocess::zscore);
  expect_unique_names(InnerTolerance::tight);
  expect_unique_names(Acceleration::anderson);
  expect_unique_names(SolverChoice::newton);
  expect_unique_names(Precision::float32);
  expect_unique_names(Outcome::diverged);
  EXPECT_EQ(name(MetricChoice::w_inverse), "w-inverse");
  EXPECT_EQ(name(Outcome::iteration_limit), "iteration-limit");
}

}  // namespace
}  // namespace remblai
