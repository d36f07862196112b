// Messages as data: what every front end makes of them, and what none may touch.
#include "remblai/error.h"

#include <gtest/gtest.h>

#include "remblai/fit.h"
#include "remblai/options.h"
#include "remblai/predict.h"
#include "support.h"

namespace remblai {
namespace {

std::string flag(std::string_view name) {
  return "--" + std::string(name);
}

TEST(Message, is_field_value_problem_and_remedy) {
  const Message message{.field = "ridge", .value = "-1", .problem = "is low", .remedy = "raise it"};
  EXPECT_EQ(message.text(flag), "--ridge: -1 is low; raise it");
  EXPECT_EQ(message.text(), "Options::ridge: -1 is low; raise it");
  EXPECT_EQ((Message{.problem = "it broke"}).text(flag), "it broke");
  EXPECT_EQ((Message{.field = "points", .value = "3"}).text(), "points: 3");
  EXPECT_EQ((Message{.value = "3", .remedy = "give 4"}).text(), "3; give 4");
}

TEST(Message, spells_the_names_in_its_sentences) {
  const Message message{.problem = "$lambda is small", .remedy = "raise $outer-tolerance, or not"};
  EXPECT_EQ(message.text(flag), "--lambda is small; raise --outer-tolerance, or not");
  EXPECT_EQ(message.text(), "Options::lambda is small; raise Options::outer_tolerance, or not");
}

TEST(Message, cpp_names_the_struct_that_owns_an_option) {
  const auto named = [](const char* name) { return Message{.field = name}.text(); };
  EXPECT_EQ(named("prior-ridge"), "Options::prior_ridge: ");
  EXPECT_EQ(named("neighbours"), "PredictOptions::neighbours: ");
  EXPECT_EQ(named("knn-metric"), "PredictOptions::knn_metric: ");
  EXPECT_EQ(named("threads"), "Resources::threads: ");
  EXPECT_EQ(named("source-labels"), "Problem::source.labels: ");
  EXPECT_EQ(named("image-size"), "image-size: ");
}

// A file may be called so, a class, a column.
TEST(Message, leaves_text_from_outside_alone) {
  for (const std::string text :
       {"$ridge", "--ridge", "$$ridge$", "a$lambda.npy", "$", "$$", "$-"}) {
    EXPECT_EQ((Message{.value = text}).text(flag), text);
    EXPECT_EQ((Message{.problem = literal(text)}).text(flag), text);
    EXPECT_EQ((Message{.remedy = literal(text) + " or $ridge"}).text(flag),
              "; " + text + " or --ridge");
  }
}

TEST(Message, of_an_error_is_its_what) {
  const Error error({.field = "ridge", .value = "-1", .problem = "is low"});
  EXPECT_STREQ(error.what(), "Options::ridge: -1 is low");
  EXPECT_EQ(error.message().field, "ridge");
}

// The same fault from the library: the parts, for whoever spells them.
TEST(Message, of_an_option_out_of_range_has_every_part) {
  try {
    fit(test::small_problem(), {.ridge = -1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().field, "ridge");
    EXPECT_EQ(error.message().value, "-1");
    EXPECT_EQ(error.message().text(flag).rfind("--ridge: -1 is out of range; it must be", 0), 0u);
    EXPECT_EQ(std::string(error.what()).rfind("Options::ridge: -1 ", 0), 0u);
  }
}

TEST(Message, of_a_status_has_every_part) {
  const Model model = fit(test::small_problem(), {.steps = 1});
  EXPECT_EQ(model.status.message.remedy, "give more $steps");
  EXPECT_TRUE(test::contains(model.status.reason(), "give more Options::steps"));
  EXPECT_TRUE(test::contains(model.status.message.text(flag), "give more --steps"));
}

TEST(Error, TextFromOutsideCannotReachATerminal) {
  const std::string hostile = "a\x1b[2Jb\nc\x9b\xe2\x80\xae\xc3\xa9";
  const std::string safe = "a\\x1b[2Jb\\x0ac\\x9b\\xe2\\x80\\xae\xc3\xa9";
  EXPECT_EQ(printable(hostile), safe);
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(Error({.value = hostile, .problem = "is odd"}).what(), safe + " is odd");
  EXPECT_EQ(Error({.field = hostile}).what(), safe + ": ");
}

}  // namespace
}  // namespace remblai
