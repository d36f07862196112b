// Explanation, opinion, shares, moves and head, in the order of a fit.
#include "fit/class_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/linalg.h"
#include "base/memory.h"
#include "fit/discrepancy.h"
#include "fit/moment.h"
#include "model/class_terms.h"
#include "remblai/error.h"

namespace remblai {
namespace {

constexpr double smallest_share = 1e-9;
constexpr double sure_of_source = 0.8;

// In units of the margin (see handicap): discrepancies that differ by less tell nothing.
constexpr double cannot_tell = 0.25;

// In the same units: from here on the target is not explained. On digits and photos the nearer one
// of the two first explanations has at most 2.8 with its best class shares, whatever the shift;
// where clusters were moved and one of them grew to three quarters it has 5 to 16.
constexpr double unexplained = 4;

// Points that the prior of the shares stands for; more where the classifier is less reliable.
Vector share_prior(const ClassProblem& problem, double base, double reliability, bool cautious) {
  const double doubt = (1 - reliability) / std::max(reliability, 1e-3);
  const double pull = cautious ? static_cast<double>(problem.q.size()) * doubt * doubt : 0;
  return pull * problem.shares.array() + base;
}

Vector given_shares(const Matrix& row, Index classes) {
  const char* remedy = "give one number for each class, 0 or more, not all of them 0";
  if (row.size() != classes)
    throw Error({.field = "target-shares",
                 .value = fmt::format("{} numbers", row.size()),
                 .problem = fmt::format("for the {} classes of the source, in ascending order of "
                                        "their labels",
                                        classes),
                 .remedy = remedy});
  if (!(row.array() >= 0).all() || !(row.sum() > 0) || !std::isfinite(row.sum()))
    throw Error({.field = "target-shares",
                 .value = {},
                 .problem = "one is negative or no finite number, or all are 0",
                 .remedy = remedy});
  const Vector shares = (row.reshaped() / row.sum()).cwiseMax(smallest_share);
  return shares / shares.sum();
}

}  // namespace

ClassStep::ClassStep(const Space& space, const Labels& source_labels, const Labels& known_labels,
                     const Options& options)
    : space_(space),
      options_(options),
      classes_(options.classes),
      problem_(make_class_problem(space, source_labels, known_labels)),
      explained_(space.x),
      moved_(space.x),
      plan_moves_(Matrix::Zero(problem_.class_count(), space.rank())) {
  moves_.trust = move_lengths_ = Vector::Zero(problem_.class_count());
  if (options.classes.target_shares == SharesChoice::given)
    given_shares(options.classes.target_shares.matrix(), problem_.class_count());
  if (options.resources.memory == 0) return;
  // The ranks solve one system together, so the one with the least memory decides.
  const auto all = static_cast<double>(space.shard.total(space.x.rows()) + space.z.rows());
  const int fitting = landmarks_within(options.resources.memory_bytes(), classes_.landmarks, all);
  classes_.landmarks = -static_cast<int>(space.shard.maximum(-static_cast<double>(fitting)));
}

Matrix ClassStep::first_moment() const {
  const Matrix within = problem_.p.cwiseSqrt().asDiagonal() * problem_.within(space_.x);
  return 2 * space_.shard.sum(within.rows(), space_.rank(), space_.rank(), [&](Rows some) {
    return linalg::gram(within.middleRows(some.begin, some.end - some.begin));
  });
}

Matrix ClassStep::translation() const {
  return weighted_mean(space_.z, problem_.q, {}).transpose() -
         weighted_mean(space_.x, problem_.p, space_.shard).transpose();
}

// Where shares changed much the means differ by that too, and the translation from one to the other
// puts classes onto others. So where neither that one nor none explains the target, the class
// shares that bring the source nearest to it say how much of the difference is theirs, and the rest
// is the next translation, in turns. It is taken only if it explains the target completely:
// elsewhere the nearest shares follow what is not a change of shares (with SURF nine tenths of the
// points would change their class).
Matrix ClassStep::translation_beside_shares(const MetricLearner& metric, const Discrepancy& compare,
                                            const Clouds& centred) const {
  constexpr int most = 30;
  constexpr double still = 1e-3;
  const Matrix first = translation();
  const Eigen::RowVectorXd shift = metric.embed(first).row(0);
  const Discrepancy::Classes classes = compare.classes(centred, problem_);
  Discrepancy::Mixture now = compare.nearest_mixture(centred, classes);
  if (now.discrepancy < unexplained * margin() ||
      compare.nearest_mixture(centred.translated(-shift), classes).discrepancy <
          unexplained * margin())
    return first;
  const Matrix means = problem_.class_means(space_.x);
  const Matrix goal = weighted_mean(space_.z, problem_.q, {}).transpose();
  Matrix reached = first;
  for (int k = 0; k < most; ++k) {
    reached = goal - now.shares.transpose() * means;
    const Eigen::RowVectorXd further = metric.embed(reached - first).row(0);
    const double before = now.discrepancy;
    now = compare.nearest_mixture(centred.translated(further), classes);
    if (std::abs(now.discrepancy - before) < still * margin()) break;
  }
  return now.discrepancy < margin() ? reached : first;
}

EstimatedShares ClassStep::shares_of(const Judgement& judgement, double reliability,
                                     bool cautious) const {
  const ClassOptions& options = classes_;
  Matrix posterior = judgement.posterior;
  fix_known(posterior);
  const auto fixed = [&](const Vector& shares) {
    return EstimatedShares{shares, opinions_under(posterior, problem_.shares, shares)};
  };
  const Index k = problem_.class_count();
  switch (options.target_shares.kind()) {
    case SharesChoice::source:
      return fixed(problem_.shares);
    case SharesChoice::uniform:
      return fixed(Vector::Constant(k, 1 / static_cast<double>(k)));
    case SharesChoice::given:
      return fixed(given_shares(options.target_shares.matrix(), k));
    case SharesChoice::estimated:
      break;
  }
  // Without a prior a class may come to nothing, which no plan can have as a mass.
  EstimatedShares found =
      estimate_shares(posterior, problem_.q, problem_.shares,
                      share_prior(problem_, options.share_prior, reliability, cautious));
  found.shares = found.shares.cwiseMax(smallest_share);
  found.shares /= found.shares.sum();
  return found;
}

// By how much shares differ from those of the source, beside what a sample of the target would by
// chance: Pearson's statistic over four standard deviations above its mean.
double ClassStep::share_change(const Vector& shares) const {
  const double statistic =
      problem_.target_count *
      (shares - problem_.shares).cwiseAbs2().cwiseQuotient(problem_.shares).sum();
  const double freedom = static_cast<double>(problem_.class_count() - 1);
  return statistic / (freedom + 4 * std::sqrt(2 * freedom));
}

// What is added to the discrepancy of an explanation before it is compared, in units of `margin`,
// which is about what two samples of one distribution differ by. Where the data cannot tell, a
// translation does less harm: the source has to be nearer without one by a quarter. It is the other
// way round where a translation hides a change of the shares, whose means it moves onto each other:
// then it fits the better by chance, and has to be nearer by a half. Bold shares are those of
// maximum likelihood. They are trusted where they explain the target completely, the weighted
// source being as near to it as two samples are, and the classifier is sure of the source.
// Elsewhere they have to be nearer by the margin.
double ClassStep::handicap(const Candidate& candidate, bool hides_change) const {
  const bool trusted = candidate.cautious ||
                       (candidate.left_out >= sure_of_source && candidate.discrepancy < margin());
  const double doubt =
      candidate.translated ? (hides_change ? 0.5 : 0) : (hides_change ? 0 : cannot_tell);
  return margin() * (doubt + (trusted ? 0 : 1));
}

// Whether the target was translated cannot be told where the discrepancies with and without one are
// so near that the handicaps decide. It matters where guesses are others.
double ClassStep::undecided(const std::vector<Candidate>& candidates, bool hides_change) const {
  const Candidate *chosen = nullptr, *other = nullptr;
  for (const Candidate& candidate : candidates)
    if (candidate.cautious == explanation_.cautious)
      (candidate.translated == explanation_.translated ? chosen : other) = &candidate;
  const double near = (hides_change ? 0.5 : cannot_tell) * margin();
  if (!other || !(std::abs(chosen->discrepancy - other->discrepancy) < near)) return 0;
  double share = 0;
  for (Index j = 0; j < problem_.q.size(); ++j) {
    Index here = 0, there = 0;
    chosen->opinions.row(j).maxCoeff(&here);
    other->opinions.row(j).maxCoeff(&there);
    if (here != there) share += problem_.q[j];
  }
  return std::min(1.0, share);
}

void ClassStep::explain(const MetricLearner& metric, const Pulse& pulse) {
  const ClassOptions& options = classes_;
  const bool shares_known = options.target_shares.kind() != SharesChoice::estimated;
  std::vector<bool> translations, cautions;
  if (options.translation != Translation::yes) translations.push_back(false);
  if (options.translation != Translation::no) translations.push_back(true);
  if (shares_known || options.caution != Caution::bold) cautions.push_back(true);
  if (!shares_known && options.caution != Caution::cautious) cautions.push_back(false);
  Matrix translation = this->translation();
  const Clouds centred(metric.x().rowwise() + Eigen::RowVectorXd(metric.embed(translation).row(0)),
                       metric.z(), space_.shard, memory_budget(options_.resources));
  std::optional<Discrepancy> compare;
  if (translations.size() * cautions.size() > 1) compare.emplace(centred, problem_.p, problem_.q);
  const Matrix mean_to_mean = translation;
  if (compare && !shares_known && translations.back())
    translation = translation_beside_shares(metric, *compare, centred);

  std::vector<Candidate> candidates;
  Judgement judgements[2];     // without and with a translation
  double changes[2] = {0, 0};  // of the shares
  for (const bool translate : translations) {
    const Matrix from_centred =
        (translate ? translation : Matrix::Zero(1, space_.rank())) - mean_to_mean;
    const Clouds clouds =
        from_centred.isZero(0) ? centred : centred.translated(metric.embed(from_centred).row(0));
    Judgement& judgement = judgements[translate];
    judgement = judge(problem_, clouds, options, pulse);
    const double reliability = std::min(judgement.left_out, judgement.round_trip);
    std::vector<Vector> weights;
    std::vector<Matrix> opinions;
    for (const bool cautious : cautions) {
      shares_ = shares_of(judgement, reliability, cautious);
      weights.push_back(row_sums());
      opinions.push_back(shares_.opinions);
    }
    changes[translate] = share_change(shares_of(judgement, reliability, true).shares);
    std::vector<double> distances(cautions.size(), 0.0);
    if (compare) distances = (*compare)(clouds, weights);
    for (std::size_t c = 0; c < cautions.size(); ++c) {
      if (compare) discrepancies_[2 * translate + !cautions[c]] = distances[c];
      candidates.push_back(
          {translate, cautions[c], distances[c], judgement.left_out, std::move(opinions[c])});
    }
  }
  const bool hides_change = changes[0] > 1 && changes[1] < changes[0] / 2;
  double nearest = std::numeric_limits<double>::infinity();
  explanation_ = {candidates.front().translated, candidates.front().cautious};
  for (const Candidate& candidate : candidates) {
    const double distance = candidate.discrepancy + handicap(candidate, hides_change);
    if (!(distance < nearest)) continue;
    nearest = distance;
    explanation_ = {candidate.translated, candidate.cautious};
  }
  undecided_ = undecided(candidates, hides_change);
  first_ = std::move(judgements[explanation_.translated]);
  begins_ = true;
  translated_by_ = Matrix::Zero(problem_.class_count(), space_.rank());
  if (explanation_.translated) translated_by_.rowwise() += Eigen::RowVectorXd(translation.row(0));
  steps_ = {translated_by_};
  explained_ = space_.x + problem_.members * translated_by_;
  moved_ = explained_;
}

void ClassStep::choose_geodesic(MetricLearner& metric) {
  const Index place = explanation_.cautious ? 0 : 1;
  const double nearer = discrepancies_[place] - discrepancies_[2 + place];  // NaN: no comparison
  const bool apart = options_.prior.kind() == PriorChoice::spread && explanation_.translated &&
                     nearer > cannot_tell * margin();
  const double before = metric.geodesic();
  metric.set_geodesic(apart ? options_.geodesic / 2 : options_.geodesic);
  if (metric.learns()) geodesic_ = metric.geodesic();
  if (metric.geodesic() != before) first_.reset();  // it was made under the other metric
}

void ClassStep::move_points_of(MetricLearner& metric, const Matrix& step) const {
  metric.move_source(moved_, problem_.members * metric.embed(step));
}

ClassStep::State ClassStep::state() const {
  const Index k = problem_.class_count();
  Matrix steps(static_cast<Index>(steps_.size()) * k, space_.rank());
  for (std::size_t i = 0; i < steps_.size(); ++i)
    steps.middleRows(static_cast<Index>(i) * k, k) = steps_[i];
  return {translated_by_,
          moves_.by_class,
          steps,
          explanation_.translated,
          explanation_.cautious,
          discrepancies_,
          left_out_,
          reliability_,
          undecided_};
}

bool ClassStep::fits(const State& state) const {
  const Index k = problem_.class_count(), r = space_.rank();
  const auto by_class = [&](const Matrix& rows) {
    return rows.rows() == k && rows.cols() == r && rows.allFinite();
  };
  const auto share = [](double value) { return value >= 0 && value <= 1; };
  return share(state.left_out) && share(state.reliability) && share(state.undecided) &&
         by_class(state.explained) && (state.moved.size() == 0 || by_class(state.moved)) &&
         state.steps.cols() == r && state.steps.rows() > 0 && state.steps.rows() % k == 0 &&
         state.steps.allFinite() && state.discrepancies.size() == discrepancies_.size();
}

void ClassStep::restore(const State& state, const MetricLearner::State& learned,
                        MetricLearner& metric) {
  explanation_ = {state.translated, state.cautious};
  discrepancies_ = state.discrepancies;
  choose_geodesic(metric);
  metric.restore(learned);
  first_.reset();
  begins_ = false;
  const Index k = problem_.class_count();
  translated_by_ = state.explained;
  moves_.by_class = state.moved;
  explained_ = moved_ = space_.x + problem_.members * translated_by_;
  if (moves_.by_class.size() > 0) moved_ = explained_ + problem_.members * moves_.by_class;
  steps_.clear();
  for (Index first = 0; first < state.steps.rows(); first += k) {
    steps_.push_back(state.steps.middleRows(first, k));
    move_points_of(metric, steps_.back());
  }
  left_out_ = state.left_out;
  reliability_ = state.reliability;
  undecided_ = state.undecided;
}

void ClassStep::ask(const Matrix& x, const Matrix& z, const Pulse& pulse) {
  now_ = first_ ? std::move(*first_)
                : judge(problem_, Clouds(x, z, space_.shard, memory_budget(options_.resources)),
                        classes_, pulse);
  first_.reset();
  if (begins_) left_out_ = reliability_ = now_.left_out;
  begins_ = false;
  reliability_ = std::min(reliability_, now_.round_trip);
  shares_ = shares_of(now_, reliability_, explanation_.cautious);
}

void ClassStep::fix_known(Matrix& shares) const {
  for (std::size_t j = 0; j < problem_.known.size(); ++j) {
    auto row = shares.row(problem_.known[j]);
    row.setZero();
    row[problem_.known_places[j]] = 1;
  }
}

Vector ClassStep::row_sums() const {
  const Vector ratios = shares_.shares.cwiseQuotient(problem_.shares);
  return problem_.p.cwiseProduct(problem_.members * ratios);
}

Matrix ClassStep::class_costs(double weight) const {
  return remblai::class_costs(shares_.opinions, weight);
}

// Rounding is no spread: where the points of each class are one, there is none.
double ClassStep::spread_within(const Matrix& x) const {
  const auto mean_square = [&](const Matrix& rows) {
    return problem_.shard.dot(problem_.p, rows.rowwise().squaredNorm());
  };
  const double spread = mean_square(problem_.within(x));
  return spread > 1e-24 * mean_square(x) ? spread : 0;
}

void ClassStep::move(const PlanMoments& plan, const Matrix& plan_shares,
                     const MetricLearner& metric) {
  plan_shares_ = plan_shares;
  const Vector landing = plan_shares.transpose() * problem_.q;
  const Vector belief =
      (plan_shares.cwiseProduct(shares_.opinions).transpose() * problem_.q).cwiseQuotient(landing);
  const Matrix landed = plan.rows.cwiseInverse().asDiagonal() * plan.plan_z;
  noise_ = spread_within(metric.x());
  plan_moves_ = problem_.class_means(moved_ - space_.x);
  moves_ = class_moves(problem_, landed - explained_, shares_.shares, belief, noise_, metric);
  const Matrix before = moved_;
  moved_ = explained_ + problem_.members * moves_.by_class;
  steps_.push_back(problem_.class_means(moved_ - before));
  if (noise_ > 0)
    move_lengths_ =
        metric.embed(problem_.class_means(moved_ - space_.x)).rowwise().norm() / std::sqrt(noise_);
}

void ClassStep::learn_head(const Matrix& x, const Matrix& z, const Pulse& pulse) {
  const Index m = x.rows(), n = z.rows();
  LabelledPoints points{Matrix(n + m, x.cols()), Matrix(n + m, problem_.class_count()),
                        Vector(n + m), problem_.places};
  points.rows = CommonRows::of(space_.shard, n);
  points.points << z, x;
  // A fit that broke down has no plan; the opinions are all that is known then.
  points.shares << (plan_shares_.size() > 0 ? plan_shares_ : shares_.opinions), problem_.members;
  fix_known(points.shares);
  // The source points of a class that has left the target, or nearly so, would draw others to it:
  // they weigh less where its share has fallen by more than half.
  const Vector kept =
      (2 * shares_.shares.cwiseQuotient(problem_.shares).array()).min(1.0).max(1e-3);
  const auto all = static_cast<double>(space_.shard.total(m));
  points.weights << static_cast<double>(n) * problem_.q,
      all * problem_.p.cwiseProduct(problem_.members * kept);
  Clouds clouds(x, z, space_.shard, memory_budget(options_.resources));
  const double unit = clouds.mean_distance(problem_.p, problem_.q);
  points.distances = std::move(clouds.distances);
  head_ = fit_classifier(std::move(points), unit, Purpose::labels, classes_, pulse).classifier;
  // A kernel regression has the shares from its points; class means know none. The half: sure
  // shares would ask for all of the logarithm, and shares that tell nothing for none of it.
  if (head_.width == 0) head_.biases = 0.5 * shares_.shares.cwiseMax(1e-6).array().log();
}

ClassModel ClassStep::model() const {
  ClassModel model;
  model.classes = problem_.classes;
  model.source_shares = problem_.shares;
  model.shares = shares_.shares;
  model.reliability = reliability_;
  model.left_out = left_out_;
  model.translated = explanation_.translated;
  model.cautious = explanation_.cautious;
  model.discrepancies = discrepancies_;
  model.geodesic = geodesic_;
  model.undecided = undecided_;
  model.margin = margin();
  model.estimated = classes_.target_shares.kind() == SharesChoice::estimated;
  model.common_trust = moves_.common_trust;
  model.trust = moves_.trust;
  model.move_lengths = move_lengths_;
  model.plan_moves = space_.frame.displacements(plan_moves_);
  model.moves = space_.frame.displacements(problem_.class_means(moved_ - space_.x));
  model.opinions = shares_.opinions;
  model.opinion = now_.classifier;
  model.head = head_;
  return model;
}

}  // namespace remblai
