// The four kinds of shift, and the doubt about labels.
#include "remblai/diagnosis.h"

#include <gtest/gtest.h>

#include <tuple>

#include "fit/class_test_tools.h"
#include "remblai/fit.h"
#include "remblai/predict.h"
#include "remblai/sample.h"

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

// Normal classes of deviation 1 around random centres; the target is moved in every coordinate. Of
// so many target points one is of the classes in turn, and the others of the first.
Problem blobs(Index classes, Index m, Index n, Index d, double shift, Index one_in, unsigned seed) {
  constexpr double apart = 3;
  Problem problem = test::class_problem(classes, m, n, d, seed, apart, shift);
  const Matrix centres = apart * test::random_matrix(classes, d, 1000 + seed);
  for (Index j = 0; j < n; ++j) {
    const Index before = (problem.target.labels[j] - 2) / 3;
    const Index now = j % one_in ? 0 : (j / one_in) % classes;
    problem.target.points.row(j) += centres.row(now) - centres.row(before);
    problem.target.labels[j] = 3 * now + 2;
  }
  return problem;
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

// Of lengths that have no unit nothing is said.
TEST(Diagnosis, ClassesOfOnePlaceHaveNoSpreadToMeasureMovesBy) {
  for (const Index m : {3, 30})
    for (const double far : {0.0, 1e6}) {
      Problem problem = blobs(3, m, 40, 5, 1, 1, 1);
      for (Index i = 3; i < m; ++i) problem.source.points.row(i) = problem.source.points.row(i % 3);
      problem.source.points.array() += far;
      problem.target.points.array() += far;
      const ClassModel classes = *fit(problem, test::class_aware()).classes;
      EXPECT_EQ(classes.move_lengths, Vector::Zero(3)) << m << " " << far;
      const Diagnosis found = diagnose(classes);
      EXPECT_TRUE(found.shift == Shift::none || found.shift == Shift::shares);
      EXPECT_TRUE(contains(found.shift_words, "no spread")) << found.shift_words;
    }
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

// By the margin; shares that were given are those of the target.
TEST(Diagnosis, ComparesWithChance) {
  ClassModel model = model_of(0.15, 0.3, 1);
  model.margin = 1 / 50.0 + 1 / 50.0;
  model.discrepancies = Vector{{0, 0, -0.01, -0.01}};
  EXPECT_EQ(diagnose(model).shift, Shift::none);
  EXPECT_TRUE(contains(diagnose(model).shift_words, "two samples of one distribution"));
  model.discrepancies = Vector{{0.02, 0.02, -0.01, -0.01}};
  EXPECT_EQ(diagnose(model).shift, Shift::position);
  EXPECT_TRUE(contains(diagnose(model).shift_words, "no more than chance"));
  model.estimated = false;
  EXPECT_EQ(diagnose(model).shift, Shift::both);
  model.estimated = true;
  model.margin /= 10;
  EXPECT_EQ(diagnose(model).shift, Shift::both);
}

// Two numbers are behind it, of which the smaller one is stated.
TEST(Diagnosis, SaysWhatTheReliabilityIs) {
  EXPECT_TRUE(contains(diagnose(model_of(0, 0, 0.9)).trust_words, "0.90: so many source labels"));
  EXPECT_TRUE(contains(diagnose(model_of(0, 0, 0.95)).trust_words, "that has not seen them"));
  ClassModel both = model_of(0, 0, 1);
  both.left_out = both.reliability = 1 - 1e-15;
  EXPECT_TRUE(contains(diagnose(both).trust_words, "come back right"));
}

// Both of these changes, moves that each class has of its own, and much that is left over.
TEST(Diagnosis, DoubtsWhereSharesAndPlacesMayBeMistakenForEachOther) {
  const auto mistaken = [] {
    ClassModel model = model_of(0.2, 0.7, 0.9);
    model.trust = Vector{{0.9, 0.9}};
    model.margin = 0.01;
    model.discrepancies = Vector{{0.2, 0.2, 0.02, 0.02}};
    model.translated = true;
    return model;
  };
  const Diagnosis found = diagnose(mistaken());
  EXPECT_TRUE(found.doubtful);
  EXPECT_TRUE(contains(found.doubt, "20 %") && contains(found.doubt, "0.70")) << found.doubt;
  for (const char* option : {"$translation", "$target-shares", "$known-labels"})
    EXPECT_TRUE(contains(found.advice, option)) << found.advice;
  std::vector<ClassModel> others(6, mistaken());
  others[0].shares = others[0].source_shares;
  others[1].move_lengths *= 0.5;
  others[2].trust *= 0.5;
  others[3].margin = 0.02;
  others[4].margin = 0;         // of an earlier version
  others[5].estimated = false;  // the shares were given
  for (const ClassModel& other : others) EXPECT_FALSE(diagnose(other).doubtful);
}

TEST(Diagnosis, OfTwoSamplesOfOneDistributionNothingIsSaid) {
  int none = 0, all = 0;
  for (const auto& [classes, m, n, d] : {std::tuple<Index, Index, Index, Index>{2, 20, 40, 5},
                                         {2, 60, 60, 5},
                                         {3, 60, 60, 4},
                                         {5, 100, 100, 20}})
    for (unsigned seed = 0; seed < 8; ++seed) {
      Problem problem = blobs(classes, m, n, d, 0, 1, seed);
      if (seed % 2) {  // another number of points of each class
        problem.target.points = problem.target.points.bottomRows(n - n / 7).eval();
        problem.target.labels = {};
      }
      none += diagnose(*fit(problem, test::class_aware()).classes).shift == Shift::none;
      ++all;
    }
  EXPECT_GE(none, all - 1);
}

TEST(Diagnosis, OfSamplesOfTwoDistributionsItIsSaidWhatDiffers) {
  const auto found = [](double shift, Index one_in, unsigned seed) {
    return diagnose(*fit(blobs(4, 100, 100, 5, shift, one_in, seed), test::class_aware()).classes)
        .shift;
  };
  for (unsigned seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(found(2, 1, seed), Shift::position) << seed;
    EXPECT_EQ(found(0, 3, seed), Shift::shares) << seed;
    EXPECT_EQ(found(0.7, 3, seed), Shift::both) << seed;
  }
}

// Other shares and another place, at once: where the place is far, labels are poor in most draws,
// and the reliability is high.
TEST(Diagnosis, DoubtsWhereAFitWentWrong) {
  int wrong = 0, silent = 0, right = 0, warned = 0;
  for (const double shift : {1.0, 3.0})
    for (unsigned seed = 0; seed < 14; ++seed) {
      Problem problem = blobs(10, 200, 200, 10, shift, 4, seed);
      if (shift > 1) problem.target.points.leftCols(2) *= 2;  // which no translation explains
      const Model model = fit(problem, test::class_aware());
      const bool doubtful = diagnose(*model.classes).doubtful;
      const double share =
          test::agreement(predict(model, problem.target.points), problem.target.labels);
      wrong += share < 0.8;
      silent += share < 0.8 && !doubtful;
      right += share > 0.95;
      warned += share > 0.95 && doubtful;
    }
  EXPECT_GE(wrong, 5);
  EXPECT_EQ(silent, 0);
  EXPECT_GE(right, 8);
  EXPECT_LE(warned, 1);
}

Model model_of_columns(double last, Index d = 3) {
  Model model;
  for (Domain* domain : {&model.source, &model.target}) {
    domain->points = test::random_matrix(50, d, domain == &model.source ? 1 : 2);
    domain->weights = Vector::Constant(50, 0.02);
  }
  model.source.points.rightCols(1) *= last;
  return model;
}

TEST(Diagnosis, WarnsOfAColumnThatHasNearlyAllSpread) {
  const auto said = [](const Model& model) {
    std::string text;
    for (const Warning& warning : warnings(model)) text += warning.text({}) + "\n";
    return text;
  };
  EXPECT_EQ(said(model_of_columns(1)), "");
  EXPECT_EQ(said(model_of_columns(6)), "");
  Model model = model_of_columns(20);
  EXPECT_TRUE(contains(said(model), "Column 2, counted from 0, has 98 %") ||
              contains(said(model), "Column 2, counted from 0, has 99 %"))
      << said(model);
  EXPECT_TRUE(contains(said(model), "Give Options::preprocess zscore")) << said(model);
  model.source.points.array() += 1e6;  // where the clouds are does not count
  EXPECT_TRUE(contains(said(model), "Column 2")) << said(model);
  std::swap(model.source, model.target);
  EXPECT_TRUE(contains(said(model), "Column 2")) << said(model);
  model.features = {"a", "b", "price in $lambda"};
  EXPECT_TRUE(contains(said(model), "The column price in $lambda has ")) << said(model);

  std::vector<Model> others(4, model);
  others[0].options.preprocess = Preprocess::zscore;
  others[1].options.metric = Matrix(Matrix::Identity(3, 3));
  for (Domain* domain : {&others[2].source, &others[2].target}) domain->points.setConstant(7);
  others[3] = model_of_columns(20, 2);  // of two columns there is not much to weigh
  for (const Model& other : others) EXPECT_EQ(said(other), "");
  // A point without weight does not count.
  Model far = model_of_columns(1);
  far.source.points(0, 0) = 1e6;
  EXPECT_TRUE(contains(said(far), "Column 0"));
  far.source.weights[0] = 0;
  EXPECT_EQ(said(far), "");
}

TEST(Diagnosis, WarnsOfNoColumnOfTheDigits) {
  for (const Sample& digits : {mnist_sample(), turned_mnist_sample()}) {
    Model model;
    model.source = digits.source;
    model.target = digits.target;
    for (Domain* domain : {&model.source, &model.target})
      domain->weights = Vector::Constant(domain->size(), 1.0 / 500);
    EXPECT_TRUE(warnings(model).empty());
  }
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
