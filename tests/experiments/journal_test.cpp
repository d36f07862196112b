// The journal: what was finished comes back to the bit, whatever happened to the last line.
#include "journal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support.h"

namespace remblai::experiments {
namespace {

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string refusal(const Json& settings, bool resume) const {
    return test::message_of([&] { Journal(path_, settings, resume); });
  }

  std::string path_ = test::scratch_path("journal_test");
  Json settings_{{"version", "1"}, {"lambda-grid", {0.1, 0.2}}, {"methods", {"learned"}}};
  Task task_{"10", "skew10-digit3", 2, "abc"};
};

Trial some_run() {
  Trial run;
  run.method = "learned";
  run.lambda = 0.1;
  run.ridge = std::numeric_limits<double>::quiet_NaN();
  run.train_accuracy = 1.0 / 3;
  run.test_accuracy = 2.0 / 7;
  run.steps = 12;
  run.passes = 345;
  run.outcome = Outcome::iteration_limit;
  run.chosen = true;
  run.seconds = 0.1234567890123;
  return run;
}

void expect_same(const Trial& a, const Trial& b) {
  EXPECT_EQ(run_json(a), run_json(b));
  EXPECT_EQ(a.train_accuracy, b.train_accuracy);
  EXPECT_TRUE(std::isnan(b.ridge));
}

TEST_F(JournalTest, WhatWasAppendedIsReadBackToTheBit) {
  {
    Journal journal(path_, settings_, false);
    EXPECT_EQ(journal.find(task_), nullptr);
    journal.append(task_, {some_run(), some_run()});
  }
  const Journal again(path_, settings_, true);
  ASSERT_NE(again.find(task_), nullptr);
  ASSERT_EQ(again.find(task_)->size(), 2u);
  expect_same(some_run(), again.find(task_)->at(1));
  Task other = task_;
  other.seed = 3;
  EXPECT_EQ(again.find(other), nullptr);
  other = task_;
  other.data = "abd";
  EXPECT_TRUE(test::contains(test::message_of([&] { again.find(other); }),
                             "task skew10-digit3, seed 2 was run with other data"));
}

TEST_F(JournalTest, ALineThatWasCutShortIsDropped) {
  std::string whole;
  {
    Journal journal(path_, settings_, false);
    journal.append(task_, {some_run()});
    whole = content();
  }
  const std::size_t header = whole.find('\n') + 1;
  for (const std::size_t length :
       {std::size_t{5}, header - 1, header, header + 3, whole.size() - 1}) {
    write(whole.substr(0, length));
    Journal journal(path_, settings_, true);
    EXPECT_EQ(journal.find(task_), nullptr) << length;
    journal.append(task_, {some_run()});
    EXPECT_EQ(content(), whole) << length;
  }
}

TEST_F(JournalTest, IsNeverOverwrittenOrMixed) {
  Json other = settings_;
  other["lambda-grid"] = {0.1};
  { Journal nothing_done(path_, other, false); }
  {
    Journal journal(path_, settings_, false);  // so it may begin anew
    journal.append(task_, {some_run()});
  }
  EXPECT_TRUE(test::contains(refusal(settings_, false), "give --resume to go on"));
  EXPECT_TRUE(test::contains(refusal(other, true),
                             "it was made with lambda-grid = [0.1,0.2], now it is [0.1]"))
      << refusal(other, true);
  const Journal open(path_, settings_, true);
  EXPECT_TRUE(test::contains(refusal(settings_, true), "another run is writing to it"));
}

TEST_F(JournalTest, WhatIsNoJournalIsLeftAlone) {
  const std::string shorter = settings_.dump().substr(0, 9);
  for (const std::string& text :
       {std::string("my only diary"), std::string("my only diary\n"), std::string("\n"),
        std::string("{\"version\": 1}\n"), shorter + "\n", shorter + "x"}) {
    write(text);
    EXPECT_FALSE(Journal::is_at(path_)) << text;
    for (const bool resume : {false, true})
      EXPECT_TRUE(test::contains(refusal(settings_, resume), "no journal of a run")) << text;
    EXPECT_EQ(content(), text);
    { Journal replaced(path_, settings_, false, true); }
    EXPECT_EQ(content(), settings_.dump() + "\n");
    EXPECT_TRUE(Journal::is_at(path_));
  }
}

TEST_F(JournalTest, DamageIsNamed) {
  const std::string foreign = settings_.dump() + "\n{\"task\": 3}\nno end";
  write(foreign);
  EXPECT_TRUE(test::contains(refusal(settings_, true), "line 2 is damaged"));
  EXPECT_EQ(content(), foreign);  // nothing is cut off what cannot be read
  write("\xff\xfe\n\n");
  EXPECT_TRUE(test::contains(refusal(settings_, true), "line 1 is damaged"));
  Json line{{"task", "a"}, {"seed", 0}, {"data", ""}, {"runs", {run_json(some_run())}}};
  line["runs"][0]["status"] = "conv";
  write(settings_.dump() + "\n" + line.dump() + "\n");
  EXPECT_TRUE(test::contains(refusal(settings_, true), "unknown status conv"))
      << refusal(settings_, true);
  line["runs"] = Json::array();
  write(settings_.dump() + "\n" + line.dump() + "\n");
  EXPECT_TRUE(test::contains(refusal(settings_, true), "no chosen run of learned"));
  write(R"({"version": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}\n\n");
  EXPECT_TRUE(test::contains(refusal(settings_, true), "nested deeper than 64"));
}

}  // namespace
}  // namespace remblai::experiments
