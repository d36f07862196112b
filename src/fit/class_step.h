// The classes in the outer loop: what the classifier says before a plan is asked for, and where the
// source points go after it.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "fit/class_shares.h"
#include "fit/discrepancy.h"
#include "fit/judgement.h"
#include "fit/metric_learner.h"
#include "fit/moment.h"
#include "fit/moves.h"

namespace remblai {

/// One fit of the class-aware method, step by step. In each step of the alternation the metric
/// comes first, then `ask`, the plan, and `move`; `learn_head` ends the fit. With the classifier's
/// opinion and the shares held fixed, plan and metric descend one objective; shares and moves
/// change it, so there is a given number of steps and no descent from one to the next.
class ClassStep {
 public:
  /// Labels belong to all points of the domains. Throws Error when they cannot be used.
  ClassStep(const Space& space, const Labels& source_labels, const Labels& known_labels,
            const Options& options);

  /// Twice the scatter of the source within its classes: what the first metric is made from.
  Matrix first_moment() const;

  /// Chooses how the target came about: with or without a translation, with cautious or bold class
  /// shares. The source weighted by the shares of an explanation is nearest to the target under the
  /// best one. `metric` is at its first state. Here and below: where the pulse stops the work,
  /// simpler classifiers answer, and what follows is well defined.
  void explain(const MetricLearner& metric, const Pulse& pulse);

  /// Gives the learner the weight t of the geodesic that the explanation asks for. Between domains
  /// that look different the directions of large spread are less to go by: where a translation
  /// surely explains the target better than none, the weight of the prior `spread` is half of that
  /// of the options, and the metric nearer to the identity. Other priors keep their weight.
  void choose_geodesic(MetricLearner& metric);

  /// The source points as they are moved so far, in the coordinates of the space.
  const Matrix& moved() const { return moved_; }

  /// Classifier, reliability and shares, for embedded points.
  void ask(const Matrix& x, const Matrix& z, const Pulse& pulse);

  // What the next plan is asked for, after `ask`.
  double mean_cost() const { return now_.unit; }
  Vector row_sums() const;  ///< by the class shares of the target
  const Matrix& members() const { return problem_.members; }
  Matrix class_costs(double weight) const;  ///< -weight ln(opinion), n x K

  /// Moves the source points after the plan. `plan_shares` are the shares of the classes in the
  /// mass that it sends to each target point, n x K. `metric` holds the points as the plan saw
  /// them.
  void move(const PlanMoments& plan, const Matrix& plan_shares, const MetricLearner& metric);

  /// Puts the source points of the learner where the last `explain` or `move` moved them.
  void move_points_of(MetricLearner& metric) const { move_points_of(metric, steps_.back()); }

  /// The classifier that labels: on the moved source points and the target points with the shares
  /// that the last plan gave them.
  void learn_head(const Matrix& x, const Matrix& z, const Pulse& pulse);

  /// What one step hands to the next. Points move by class, so it does not grow with their number.
  struct State {
    Matrix explained;  ///< K x r: what `explain` moved the classes by
    Matrix moved;      ///< K x r: what the last `move` added to that; empty before the first
    Matrix steps;      ///< what each of these changed, one below the other
    bool translated = false, cautious = true;
    Vector discrepancies;
    double left_out = 0, reliability = 1, undecided = 0;
  };
  State state() const;

  /// Whether a state has the shapes of this problem.
  bool fits(const State& state) const;

  /// Goes on from there, in place of `explain` and the choice of the geodesic. `learned` is what
  /// the learner goes on from.
  void restore(const State& state, const MetricLearner::State& learned, MetricLearner& metric);

  /// What the model keeps; moves are in the coordinates of the space's points.
  ClassModel model() const;
  const std::vector<Index>& known() const { return problem_.known; }

 private:
  struct Explanation {
    bool translated = false;
    bool cautious = true;
  };
  struct Candidate {
    bool translated, cautious;
    double discrepancy, left_out;
    Matrix opinions;  // n x K
  };
  double margin() const { return 1 / problem_.source_count + 1 / problem_.target_count; }
  double share_change(const Vector& shares) const;
  double handicap(const Candidate& candidate, bool hides_change) const;
  double undecided(const std::vector<Candidate>& candidates, bool hides_change) const;
  EstimatedShares shares_of(const Judgement& judgement, double reliability, bool cautious) const;
  void fix_known(Matrix& shares) const;  // rows of target points whose label is known
  double spread_within(const Matrix& x) const;
  Matrix translation() const;  // from the mean of the source to that of the target, 1 x r
  // The same, or that from the mean under other class shares, where these explain the target and
  // the first does not.
  Matrix translation_beside_shares(const MetricLearner& metric, const Discrepancy& compare,
                                   const Clouds& centred) const;
  void move_points_of(MetricLearner& metric, const Matrix& step) const;

  const Space& space_;
  const Options& options_;
  ClassOptions classes_;  // with no more landmarks than fit the memory that was asked for
  ClassProblem problem_;
  Matrix explained_;  // the source points, translated where the explanation says so
  Matrix moved_;
  Explanation explanation_;
  Vector discrepancies_ = Vector::Constant(4, std::numeric_limits<double>::quiet_NaN());
  std::optional<Judgement> first_;  // of the explanation that was chosen
  double geodesic_ = std::numeric_limits<double>::quiet_NaN();  // NaN: the metric is fixed
  bool begins_ = false;                                         // the next `ask` is the first
  Judgement now_;
  EstimatedShares shares_;
  double left_out_ = 0, reliability_ = 1, undecided_ = 0;
  Matrix plan_moves_;          // K x r: what the points of the last plan had been moved by
  Matrix translated_by_;       // K x r: what the explanation moved the classes by
  std::vector<Matrix> steps_;  // K x r each: what every move added
  Matrix plan_shares_;         // n x K, of the last plan
  Moves moves_;
  double noise_ = 0;
  Vector move_lengths_;
  Classifier head_;
};

}  // namespace remblai
