// The four kinds of shift, and the doubt about labels.
#include "remblai/diagnosis.h"

#include <gtest/gtest.h>

#include "support.h"

namespace remblai {
namespace {

using test::contains;

ClassModel model_of(double change, double move, double reliability) {
  ClassModel model;
  model.classes = Labels{{3, 7}};
  model.source_shares = Vector{{0.5, 0.5}};
  model.shares = Vector{{0.5 + change, 0.5 - change}};
  model.move_lengths = Vector{{move, move}};
  model.trust = Vector{{0.25, 0.75}};
  model.reliability = reliability;
  model.left_out = 0.95;
  return model;
}

TEST(Diagnosis, TellsFourKindsOfShift) {
  EXPECT_EQ(diagnose(model_of(0.04, 0.1, 1)).shift, Shift::none);
  EXPECT_EQ(diagnose(model_of(0.06, 0.1, 1)).shift, Shift::shares);
  EXPECT_EQ(diagnose(model_of(-0.04, 0.2, 1)).shift, Shift::position);
  const Diagnosis both = diagnose(model_of(-0.3, 2, 1));
  EXPECT_EQ(both.shift, Shift::both);
  EXPECT_NEAR(both.shares_change, 0.3, 1e-12);
  EXPECT_NEAR(both.move, 2, 1e-12);
  EXPECT_TRUE(contains(both.shift_words, "30 %") && contains(both.shift_words, "2.00"))
      << both.shift_words;
}

TEST(Diagnosis, DoubtsBelowFourFifthsAndSaysWhy) {
  EXPECT_FALSE(diagnose(model_of(0, 0, 0.8)).doubtful);
  EXPECT_EQ(diagnose(model_of(0, 0, 0.8)).doubt + diagnose(model_of(0, 0, 0.8)).advice, "");
  const Diagnosis target = diagnose(model_of(0, 0, 0.799));
  EXPECT_TRUE(target.doubtful);
  EXPECT_TRUE(contains(target.doubt, "0.799, below 0.8")) << target.doubt;
  EXPECT_TRUE(contains(target.doubt, "do not agree")) << target.doubt;
  EXPECT_TRUE(contains(target.advice, "$known-labels")) << target.advice;
  ClassModel poor = model_of(0, 0, 0.5);
  poor.left_out = 0.5;
  EXPECT_TRUE(contains(diagnose(poor).doubt, "not sure even of the source"));
}

// The reliability sees nothing of it. Where it is low, too, that comes first.
TEST(Diagnosis, DoubtsWhereTheExplanationMattersAndIsOpen) {
  ClassModel open = model_of(0, 0, 0.9);
  open.undecided = 0.09;
  EXPECT_FALSE(diagnose(open).doubtful);
  open.undecided = 0.125;
  EXPECT_TRUE(diagnose(open).doubtful);
  EXPECT_TRUE(contains(diagnose(open).doubt, "12 %") && contains(diagnose(open).doubt, "tell"));
  EXPECT_TRUE(contains(diagnose(open).advice, "$translation"));
  open.reliability = 0.7;
  EXPECT_TRUE(contains(diagnose(open).doubt, "below 0.8"));
}

TEST(Diagnosis, OfManyClassesThoseThatChangedMostAreShown) {
  ClassModel model;
  model.classes = Labels{{1, 2, 3}};
  model.source_shares = Vector{{0.3, 0.3, 0.4}};
  model.shares = Vector{{0.31, 0.1, 0.59}};
  model.move_lengths = model.trust = Vector{{0.1, 0.2, 0.3}};
  EXPECT_EQ(class_rows(model, 3)[0].label, 1);
  const std::vector<ClassRow> rows = class_rows(model, 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].label, 2);
  EXPECT_EQ(rows[1].label, 3);
  EXPECT_EQ(rows[1].target_share, 0.59);
  EXPECT_EQ(rows[1].moved, 0.3);
}

}  // namespace
}  // namespace remblai
