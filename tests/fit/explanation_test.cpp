// The choice between a translation and none, counted over many draws: where the data cannot tell,
// and where a change of the class shares looks like a translation.
#include <gtest/gtest.h>

#include <cmath>

#include "fit/class_test_tools.h"
#include "remblai/evaluate.h"
#include "remblai/fit.h"
#include "remblai/fit_path.h"
#include "remblai/predict.h"

namespace remblai {
namespace {

constexpr int draws = 30;

// Two normal classes of deviation 1, `apart` from each other. A source point of two is of the
// second class, and a target point of `one_in`.
Problem two_classes(Index m, Index n, Index one_in, double apart, double shift, unsigned seed) {
  const auto draw = [&](Index size, Index every, unsigned number) {
    Domain domain{test::random_matrix(size, 3, number), Labels::Zero(size), {}};
    for (Index i = 0; i < size; i += every) {
      domain.labels[i] = 1;
      domain.points(i, 0) += apart;
    }
    return domain;
  };
  Problem problem;
  problem.source = draw(m, 2, 2 * seed);
  problem.target = draw(n, one_in, 2 * seed + 1);
  problem.target.points.array() += shift;
  return problem;
}

// In how many draws the source was moved onto the mean of the target.
int translated(Index m, Index n, Index one_in, double apart, double shift) {
  int count = 0;
  for (int seed = 0; seed < draws; ++seed)
    if (fit(two_classes(m, n, one_in, apart, shift, static_cast<unsigned>(seed)),
            {.method = Method::class_aware})
            .classes->translated)
      ++count;
  return count;
}

// Both explanations are right, and a translation does less harm where they are not.
TEST(Explanation, WhereTheDataCannotTellATranslationIsTaken) {
  const int count =
      translated(20, 40, 2, 2, 0) + translated(20, 40, 2, 3, 0) + translated(30, 20, 2, 2, 0);
  EXPECT_GE(count, 3 * draws - 4);
}

// The means differ as the shares do, and a translation that makes them one fits the better by
// chance.
TEST(Explanation, AChangeOfTheSharesIsNotTakenForATranslation) {
  const int count =
      translated(20, 40, 4, 4, 0) + translated(60, 60, 4, 3, 0) + translated(60, 60, 4, 2, 0);
  EXPECT_LE(count, 30);
  EXPECT_LE(translated(60, 60, 8, 3, 0), 2);
}

// The first guesses under both explanations, of which nothing is seen where one surely is nearer.
TEST(Explanation, WhatIsUndecidedIsTheShareOfGuessesThatDependOnIt) {
  int open = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Problem problem = two_classes(20, 40, seed % 2 ? 2 : 4, 2, seed < 9 ? 0 : 3, seed);
    Options options{.method = Method::class_aware};
    options.steps = 1;  // whose opinions are the first guesses
    const ClassModel found = *fit(problem, options).classes;
    options.classes.caution = found.cautious ? Caution::cautious : Caution::bold;
    const auto guesses = [&](Translation translation) {
      options.classes.translation = translation;
      const ClassModel classes = *fit(problem, options).classes;
      EXPECT_EQ(classes.undecided, 0);  // nothing was compared
      std::vector<Index> places(40);
      for (Index j = 0; j < 40; ++j)
        classes.opinions.row(j).maxCoeff(&places[static_cast<std::size_t>(j)]);
      return places;
    };
    const std::vector<Index> still = guesses(Translation::no), moved = guesses(Translation::yes);
    int others = 0;
    for (std::size_t j = 0; j < 40; ++j) others += still[j] != moved[j];
    const Index place = found.cautious ? 0 : 1;
    const double apart = std::abs(found.discrepancies[place] - found.discrepancies[2 + place]);
    const double margin = 1 / 20.0 + 1 / 40.0;
    if (apart < 0.25 * margin) {
      EXPECT_NEAR(found.undecided, others / 40.0, 1e-12) << seed;
    } else if (apart > 0.5 * margin) {
      EXPECT_EQ(found.undecided, 0) << seed;
    }
    open += found.undecided > 0;
  }
  EXPECT_GT(open, 0);
  EXPECT_LT(open, 12);
}

// One of ten classes grew to seven tenths and all of them moved: the translation between the means
// would put classes onto others.
TEST(Explanation, ATranslationIsToldFromTheChangeOfTheMeansByTheShares) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Problem problem = test::class_problem(10, 200, 200, 10, seed, 3.4, 3);
    const Model model = fit(problem, {.method = Method::class_aware});
    EXPECT_TRUE(model.classes->translated) << seed;
    EXPECT_NEAR(model.classes->shares[0], 0.7, 0.05) << seed;
    EXPECT_GE(evaluate(predict(model, problem.target.points), problem.target.labels).accuracy(),
              0.97)
        << seed;
  }
}

double gap(const Model& a, const Model& b) {
  return (a.metric.matrix() - b.metric.matrix()).norm() / b.metric.matrix().norm();
}

// The first metric does not know of the translation, so the metric of one step tells the weight.
TEST(Explanation, BetweenDomainsThatLookDifferentTheGeodesicHasHalfItsWeight) {
  Options options{.method = Method::class_aware};
  options.steps = 1;
  Options still = options;  // one explanation, and nothing to compare
  still.classes.translation = Translation::no;
  still.classes.caution = Caution::cautious;
  const auto at = [&](const Problem& problem, double weight) {
    Options given = still;
    given.geodesic = weight;
    return fit(problem, given);
  };
  for (const double weight : {0.5, 0.8}) {
    options.geodesic = weight;
    const Problem moved = two_classes(60, 60, 2, 3, 3, 1);
    const Model model = fit(moved, options);
    ASSERT_TRUE(model.classes->translated);
    EXPECT_LT(gap(model, at(moved, weight / 2)), 1e-12);
    EXPECT_EQ(model.classes->geodesic, weight / 2);
    EXPECT_EQ(at(moved, weight).classes->geodesic, weight);
    EXPECT_GT(gap(model, at(moved, weight)), 1e-2);
  }
  options.geodesic = 0.5;

  // A translation that is taken because the data cannot tell.
  const Problem same = two_classes(20, 40, 2, 3, 0, 1);
  const Model tied = fit(same, options);
  const Vector& far = tied.classes->discrepancies;
  ASSERT_TRUE(tied.classes->translated && std::abs(far[0] - far[2]) < 0.25 * (1 / 20.0 + 1 / 40.0));
  EXPECT_LT(gap(tied, at(same, 0.5)), 1e-12);

  // Another prior, of which half the weight would be farther from the identity.
  for (const PriorChoice prior : {PriorChoice::identity, PriorChoice::w}) {
    options.prior = still.prior = prior;
    const Problem moved = two_classes(60, 60, 2, 3, 3, 1);
    const Model model = fit(moved, options);
    ASSERT_TRUE(model.classes->translated);
    EXPECT_LT(gap(model, at(moved, 0.5)), 1e-12);
  }
  options.prior = still.prior = PriorChoice::spread;

  // One that was asked for.
  still.classes.translation = Translation::yes;
  const Problem moved = two_classes(60, 60, 2, 3, 3, 1);
  EXPECT_LT(gap(fit(moved, still), at(moved, 0.5)), 1e-12);
}

// A path begins each fit with the weight of its own options.
TEST(Explanation, TheNextFitOfAPathDoesNotInheritTheWeight) {
  const Problem moved = two_classes(60, 60, 2, 3, 3, 1);
  Options options{.method = Method::class_aware};
  FitPath path(moved, options);
  path.fit(options);
  const Model first = path.model();
  options.classes.translation = Translation::no;
  path.fit(options);
  EXPECT_LT(gap(path.model(), fit(moved, options)), 1e-4);  // its plans begin elsewhere
  options.classes.translation = Translation::automatic;
  path.fit(options);
  EXPECT_LT(gap(path.model(), first), 1e-4);
}

TEST(Explanation, ALongTranslationIsFoundWhateverTheShares) {
  for (const Index one_in : {2, 4, 8}) EXPECT_EQ(translated(20, 40, one_in, 3, 3), draws) << one_in;
}

}  // namespace
}  // namespace remblai
