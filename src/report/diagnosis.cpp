// Thresholds between kinds of shift and of what is worth a warning, and sentences on them.
#include "remblai/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/json.h"

namespace remblai {
namespace {

// On digits whose shares alone changed classes moved by less than 0.1 of their spread, between
// kinds of photos by 0.17 or more. Shares that did not change were found to change by less than
// 0.03.
constexpr double noticeable_move = 0.15;
constexpr double noticeable_change = 0.05;
constexpr double enough_reliability = 0.8;

// Where classes have many points hardly any guess is another one under the other explanation.
constexpr double few_undecided = 0.1;

// In units of the margin. Of two samples of one distribution the discrepancy is below this, of 320
// draws in all but one.
constexpr double by_chance = 0.25;

// Of shares and places that are mistaken for each other, which the reliability does not see. Each
// of these signs alone is common where the labels are right, but all four together were found in
// none of 32 draws of MNIST (one digit 10 to 90 %), 60 of EfficientNet-Lite0 and 10 of DeCAF6:
// where classes had moves of their own, at most 1.03 was left there. They were found in 20 of 20
// draws of turned digits with one digit 30 or 50 % (2.4 to 6.6 left), in 2 of 10 with equally
// frequent ones, and in 14 of 32 draws of normal classes with other shares and another place, 13 of
// which did worse than the nearest source point. Given shares mend it: with these no draw of the
// turned digits did.
constexpr double large_change = 0.1;
constexpr double large_move = 0.5;
constexpr double own_moves = 0.5;
constexpr double much_left = 1.5;

// The discrepancy of an explanation in units of the margin; NaN where it is not known.
double discrepancy(const ClassModel& classes, bool translated) {
  if (!(classes.margin > 0)) return std::numeric_limits<double>::quiet_NaN();
  return classes.discrepancies[2 * translated + !classes.cautious] / classes.margin;
}

// By Pearson's statistic, from four standard deviations above its mean on.
bool shares_beyond_chance(const ClassModel& classes) {
  const double freedom = static_cast<double>(classes.classes.size() - 1);
  return (classes.shares - classes.source_shares)
             .cwiseAbs2()
             .cwiseQuotient(classes.source_shares)
             .sum() > classes.margin * (freedom + 4 * std::sqrt(2 * freedom));
}

bool mistakes_places_for_shares(const ClassModel& classes, const Diagnosis& diagnosis) {
  return classes.estimated && discrepancy(classes, classes.translated) >= much_left &&
         diagnosis.shares_change >= large_change && diagnosis.move >= large_move &&
         classes.shares.dot(classes.trust) >= own_moves;
}

// A column with more of all spread rules the distances. Classes that lie apart along one column do
// not come so far: of three columns it is 90 % where two classes are eight deviations apart.
constexpr double dominant = 0.95;

// The weighted variance of every column, around the mean of this domain.
Vector spread_of_columns(const Domain& domain) {
  Vector spread = Vector::Zero(domain.dimension());
  const Eigen::RowVectorXd mean = domain.weights.transpose() * domain.points;
  for (Index i = 0; i < domain.size(); ++i)
    spread += domain.weights[i] * (domain.points.row(i) - mean).cwiseAbs2().transpose();
  return spread;
}

void warn_of_a_column(const Model& model, std::vector<Warning>& list) {
  if (model.options.resources.comm) return;  // a rank knows a share of the source
  if (model.options.preprocess != Preprocess::none || model.source.dimension() < 3 ||
      model.options.metric.kind() == MetricChoice::given)
    return;
  const Vector spread = spread_of_columns(model.source) + spread_of_columns(model.target);
  Index k = 0;
  const double share = spread.maxCoeff(&k) / spread.sum();
  if (!(share > dominant)) return;  // NaN where nothing varies
  constexpr std::size_t longest = 60;
  const std::string name =
      model.features.empty()
          ? fmt::format("Column {}, counted from 0,", k)
          : fmt::format("The column {}",
                        literal(printable(model.features[static_cast<std::size_t>(k)], longest)));
  list.push_back({fmt::format("{} has {:.0f} % of the spread of all columns, so that the others "
                              "hardly count in a distance.",
                              name, std::floor(100 * share)),
                  "Give $preprocess zscore if the columns have different units."});
}

// The reliability is the smaller of two numbers; where both are 1, either is.
const char* reliable_how(const ClassModel& classes) {
  constexpr double all = 1 - 1e-9;  // the sum of the weights is rounded
  return classes.reliability < all && classes.reliability == classes.left_out
             ? "so many source points are labelled right by a classifier that has not seen them"
             : "so many source labels come back right through the guessed target labels";
}

}  // namespace

Diagnosis diagnose(const ClassModel& classes) {
  Diagnosis d;
  d.shares_change = 0.5 * (classes.shares - classes.source_shares).lpNorm<1>();
  d.move = classes.shares.dot(classes.move_lengths);
  const bool others = d.shares_change >= noticeable_change;
  const bool apart = d.move >= noticeable_move;
  const bool shares = others && (!classes.estimated || shares_beyond_chance(classes));
  const bool position = apart && !(discrepancy(classes, false) < by_chance);
  d.shift = shares ? (position ? Shift::both : Shift::shares)
                   : (position ? Shift::position : Shift::none);
  const std::string changed =
      fmt::format("class shares differ by {:.0f} % of the points", 100 * d.shares_change);
  const std::string moved =
      fmt::format("classes moved by {:.2f} of their spread on average", d.move);
  // Where the points of each class are one, there is no unit of lengths.
  const bool no_unit = classes.move_lengths.isZero(0) && !classes.moves.isZero(0);
  const char* no_length = "classes have no spread to measure moves by";
  switch (d.shift) {
    case Shift::none:
      d.shift_words =
          no_unit ? fmt::format("not in the class shares, and {}", no_length)
          : others || apart
              ? "none to speak of: source and target differ as two samples of one distribution do"
              : "none to speak of: class shares and places are nearly those of the source";
      break;
    case Shift::shares:
      d.shift_words = fmt::format("in the class shares: {}, and {}", changed,
                                  no_unit ? no_length : "classes stay where they are");
      break;
    case Shift::position:
      d.shift_words = fmt::format(
          "in the position: {}, and class shares {}", moved,
          others ? "differ by no more than chance would explain" : "are nearly the same");
      break;
    case Shift::both:
      d.shift_words = "in both: " + changed + ", and " + moved;
      break;
  }
  d.trust_words = fmt::format("{:.2f}: {}", classes.reliability, reliable_how(classes));
  const bool unreliable = classes.reliability < enough_reliability;
  const bool undecided = classes.undecided >= few_undecided;
  d.doubtful = unreliable || undecided || mistakes_places_for_shares(classes, d);
  if (!d.doubtful) return d;
  if (!unreliable && !undecided) {
    d.doubt = fmt::format(
        "Class shares and places both seem to have changed much, by {:.0f} % of the points and "
        "{:.2f} spreads, "
        "and the target does not look like the source after either. One may have been taken for "
        "the other, so labels may be poor whatever the reliability.",
        100 * d.shares_change, d.move);
    d.advice =
        "Give $translation yes or no where you know which it is, the shares of the classes where "
        "you know them ($target-shares), or the labels of a few target points ($known-labels).";
    return d;
  }
  if (!unreliable) {
    d.doubt = fmt::format(
        "The data cannot tell whether the target as a whole lies elsewhere than the source or its "
        "classes have other shares, and for {:.0f} % of its points the first guess depends on it.",
        100 * classes.undecided);
    d.advice =
        "Give $translation yes or no where you know which it is, and compare the two where you do "
        "not; or give more points, or the labels of a few target points ($known-labels).";
    return d;
  }
  d.doubt = fmt::format("The reliability is {:.3f}, below {:.1f}: labels may be poor, for {}.",
                        classes.reliability, enough_reliability,
                        classes.left_out < enough_reliability
                            ? "the classifier is not sure even of the source"
                            : "source and target do not agree on the classes, or some classes are "
                              "rare in the target");
  d.advice =
      "Give better features, more source points, or the labels of a few target points "
      "($known-labels).";
  return d;
}

std::string Warning::text(const Spelling& spelling) const {
  return words({.problem = what + " " + fix}, spelling);
}

std::vector<Warning> warnings(const Model& model) {
  std::vector<Warning> list;
  if (model.classes) {
    const Diagnosis diagnosis = diagnose(*model.classes);
    if (diagnosis.doubtful) list.push_back({diagnosis.doubt, diagnosis.advice});
  }
  warn_of_a_column(model, list);
  return list;
}

std::vector<ClassRow> class_rows(const ClassModel& classes, std::size_t most) {
  std::vector<ClassRow> rows;
  for (Index k = 0; k < classes.classes.size(); ++k)
    rows.push_back({classes.classes[k], classes.source_shares[k], classes.shares[k],
                    classes.move_lengths[k], classes.trust[k]});
  if (rows.size() <= most) return rows;
  std::stable_sort(rows.begin(), rows.end(), [](const ClassRow& a, const ClassRow& b) {
    return std::abs(a.target_share - a.source_share) > std::abs(b.target_share - b.source_share);
  });
  rows.resize(most);
  return rows;
}

}  // namespace remblai
