// The range of every option, and the one list that command line, report and files are made from.
#include "remblai/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "remblai/model.h"
#include "remblai/predict.h"
#include "support.h"

namespace remblai {
namespace {

using test::contains;
using test::message_of;

using test::infinity;
using test::nan;

std::string complaint(const Options& options) {
  return message_of([&] { options.validate(); });
}

// Sets one option through the list; returns what validate says.
std::string with(const std::string& name, double value) {
  Options options;
  bool found = false;
  for_each_option(options, [&](const std::string& key, auto& field, const char*) {
    using Field = std::remove_reference_t<decltype(field)>;
    if constexpr (std::is_arithmetic_v<Field>)
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
  EXPECT_EQ(with("steps", 1), "");
  EXPECT_EQ(with("threads", 0), "");
  EXPECT_EQ(with("threads", 1024), "");
  EXPECT_EQ(with("seed", 0), "");
}

TEST(Options, refuses_what_is_out_of_range_by_name) {
  const auto refused = [](const char* name, double value, const std::string& owner = "Options") {
    const std::string message = with(name, value);
    std::string member = name;
    std::replace(member.begin(), member.end(), '-', '_');
    EXPECT_EQ(message.rfind(owner + ("::" + member) + ": ", 0), 0u)
        << name << " " << value << ": " << message;
    EXPECT_TRUE(contains(message, "must be")) << message;
  };
  for (const char* name : {"prior-ridge", "lambda", "ridge", "outer-tolerance"})
    for (const double value : {-1e-300, -infinity, infinity, nan}) refused(name, value);
  for (const char* name : {"geodesic", "tolerance"})
    for (const double value : {0.0, 1.0, -0.5, 2.0, infinity, nan}) refused(name, value);
  for (const double value : {0.0, -1.0, -2147483647.0}) refused("steps", value);
  refused("threads", -1, "Resources");
  refused("threads", 1025, "Resources");
  for (const double value : {-1e-300, infinity, nan}) refused("memory", value, "Resources");
  refused("seed", -1);
}

// A default that depends on the method is there for both, and what the caller gave is kept.
TEST(Options, what_is_left_to_the_method_is_resolved) {
  const Options paper = Options().resolved();
  EXPECT_EQ(paper.lambda, 0.2);
  EXPECT_EQ(paper.prior, PriorChoice::identity);
  EXPECT_EQ(paper.steps, 100);
  const Options other = Options{.method = Method::class_aware, .ridge = 7}.resolved();
  EXPECT_EQ(other.lambda, 0.1);
  EXPECT_EQ(other.prior, PriorChoice::spread);
  EXPECT_EQ(other.prior_ridge, 0.01);
  EXPECT_EQ(other.ridge, 7);
  EXPECT_EQ(other.steps, 3);
  for_each_option(other, [](const char* name, const auto& field, const char*) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, double>) {
      EXPECT_NE(field, by_method) << name;
    } else if constexpr (std::is_same_v<Field, int>) {
      EXPECT_NE(field, steps_by_method) << name;
    }
  });
}

TEST(Options, refuses_class_options_out_of_range_by_name) {
  for (const auto& [name, values] :
       std::map<const char*, std::vector<double>>{{"opinion", {-1e-300, infinity, nan}},
                                                  {"smoothing", {0, -1, infinity, nan}},
                                                  {"kernel-width", {0, 1e-4, 1e4, nan}},
                                                  {"share-prior", {-1, infinity, nan}},
                                                  {"landmarks", {0, 9}}})
    for (const double value : values) {
      const std::string message = with(name, value);
      EXPECT_TRUE(contains(message, "ClassOptions::")) << message;
      EXPECT_TRUE(contains(message, "must be")) << message;
    }
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
  // A field that the list forgot would leave more room than padding can explain. Where several
  // processes meet is not a setting.
  bytes += sizeof options.resources.comm;
  EXPECT_LE(bytes, sizeof options);
  EXPECT_GT(bytes + 4 * 9, sizeof options);
}

TEST(Options, list_of_a_constant_gives_the_same_values) {
  Options options;
  options.steps = 5;
  options.lambda = 0.25;
  const Options& constant = options;
  int seen = 0;
  for_each_option(constant, [&](const std::string& key, const auto& field, const char*) {
    if constexpr (std::is_same_v<decltype(field), const int&>) {
      if (key == "steps") seen += field == 5;
    } else if constexpr (std::is_same_v<decltype(field), const double&>) {
      if (key == "lambda") seen += field == 0.25;
    }
  });
  EXPECT_EQ(seen, 2);
}

TEST(Options, a_prediction_has_a_list_of_its_own) {
  PredictOptions options;
  std::set<std::string> keys;
  for_each_option(options, [&](const char* key, auto&, const char*) { keys.insert(key); });
  EXPECT_EQ(keys, (std::set<std::string>{"rule", "neighbours", "knn-metric"}));
  const Options of_a_fit;
  for_each_option(of_a_fit, [&](const char* key, const auto&, const char*) {
    EXPECT_FALSE(keys.contains(key)) << key;
  });
  EXPECT_EQ(message_of([&] { options.validate(); }), "");
  for (const int value : {0, -1, std::numeric_limits<int>::min()}) {
    options.neighbours = value;
    const std::string message = message_of([&] { options.validate(); });
    EXPECT_EQ(message.rfind("PredictOptions::neighbours: " + std::to_string(value), 0), 0u)
        << message;
    EXPECT_TRUE(contains(message, "must be 1 or more")) << message;
  }
}

TEST(Options, memory_has_one_unit) {
  EXPECT_EQ(Resources{.memory = 0.5}.memory_bytes(), 512.0 * 1024 * 1024);
}

// The enum says which kind it is; a matrix is one kind more, and the only one with entries.
TEST(Options, a_metric_is_a_choice_or_a_matrix) {
  Options options;
  EXPECT_EQ(options.prior, PriorChoice::automatic);
  EXPECT_EQ(options.prior.matrix().size(), 0);
  options.prior = Matrix(2 * Matrix::Identity(3, 3));
  EXPECT_EQ(options.prior, PriorChoice::given);
  EXPECT_EQ(options.prior.kind(), PriorChoice::given);
  EXPECT_EQ(options.prior.matrix()(1, 1), 2);
  EXPECT_EQ(name(options.prior), "given");
  options.prior = PriorChoice::w;
  EXPECT_NE(options.prior, PriorChoice::given);
  EXPECT_EQ(options.prior.matrix().size(), 0);
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
  expect_unique_names(Preprocess::hellinger);
  expect_unique_names(Method::class_aware);
  expect_unique_names(Translation::yes);
  expect_unique_names(Caution::bold);
  expect_unique_names(SharesChoice::given);
  expect_unique_names(Rule::propagate);
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
