// The metric of an alternation: fixed, or made anew from the moment of each plan.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "fit/metric_step.h"
#include "remblai/error.h"
#include "transport/anderson.h"

namespace remblai {

/// Keeps prior and ridge, which the first moment fixes, the metric at hand, and the memory of the
/// acceleration. Accelerated metrics come from a mixture of this moment and the one before
/// (Anderson); the caller takes back one that does not pay.
class MetricLearner {
 public:
  /// `space` must outlive it. The metric at hand is that of the first moment, which a fixed metric
  /// does not need. Throws Error when the metric cannot be had, or its costs cannot be held in
  /// double precision.
  MetricLearner(const Space& space, const Options& options, Matrix first_moment);

  bool learns() const { return learns_; }

  /// The moment that the first metric is made from; empty for a fixed metric.
  const Matrix& first_moment() const { return first_moment_; }

  /// Another weight t in A = C^-1 #_t D: the metric at hand, and all that follow, are made with it.
  /// No effect on a fixed metric.
  void set_geodesic(double t);
  double geodesic() const { return learns_ ? step_->geodesic() : 0.5; }

  /// Forgets what an earlier run learned.
  void restart(bool accelerate);

  /// What a run has learned. The metric itself follows from the moment it was made from. Source
  /// points that were moved are not in it: they are to be moved again.
  struct State {
    Matrix used;                           ///< that moment; empty for a fixed metric
    std::deque<Vector> values, residuals;  ///< memory of the acceleration
    bool accelerate = false;
    int taken_back = 0;
  };
  State state() const;

  /// Goes on from there, after `restart`.
  void restore(const State& state);

  /// The metric for the plan with this moment, accelerated where that is on. False when the moment
  /// is singular to working precision; the metric at hand stays. A fixed metric stays.
  bool learn(const Matrix& moment);

  /// The metric at hand comes from a mixture.
  bool accelerated() const { return accelerated_; }

  /// Takes an accelerated metric back: the plain one of the same moment comes in its place, and the
  /// memory begins anew. After three of these acceleration stays off.
  bool take_back(const Matrix& moment);

  /// Other source points in place of those of the space, in its coordinates, from here on.
  /// `displacements` says by what each differs from the last, embedded.
  void move_source(Matrix moved, const Matrix& displacements);

  /// Points in the coordinates of the space, so that costs are `unit` times squared distances.
  Matrix embed(const Matrix& coordinates) const;
  const Matrix& x() const { return x_; }  ///< the source points, embedded
  const Matrix& z() const { return z_; }  ///< the target points, or those of this rank

  /// These points for who takes their memory. Until the next metric x and z are empty.
  PointPair released_points();
  void forget_points();

  /// Whom to ask for memory when points were released and there is another metric. It may give
  /// less than was taken, or nothing.
  using Room = std::function<PointPair()>;
  void room_from(Room room) { room_ = std::move(room); }

  double unit() const { return metric_.unit; }
  const Metric& metric() const { return metric_; }

  // Terms of the objective, in the units of the data; 0 for a fixed metric.
  double prior_term() const;
  double ridge_term() const;

  double ridge() const;  ///< absolute, in the units of the data

  // What judges the metric at hand. Each costs as much as a metric step.
  const LearnedMetric& learned() const { return learned_; }
  const SpanMatrix& prior() const { return step_->prior(); }  ///< of a learned metric
  const Matrix& used_moment() const { return used_; }         ///< that the metric was made from
  double residual(const Matrix& moment) const;                ///< NaN for a fixed metric
  double condition() const;
  double distance_from(const LearnedMetric& before) const;

  /// What to say when a moment is singular.
  Message singular() const;

 private:
  void fix_metric(const SpanMatrix& a);
  void prepare(const Options& options, SpanMatrix prior);
  void use_units(const SpanMatrix& prior, double geodesic);
  const Matrix& source() const { return moved_.size() ? moved_ : space_.x; }
  bool learn_plain(const Matrix& moment);
  void place_points();
  void place_source();
  Matrix embedded(const Matrix& coordinates, Matrix room) const;

  const Space& space_;
  bool learns_;
  Unit ridge_unit_;
  double given_ridge_;
  bool given_prior_;
  double ridge_ = 0;        // in the coordinates of the space
  double prior_scale_ = 1;  // of <A^-1, D>
  Matrix first_moment_;
  std::unique_ptr<MetricStep> step_;
  Metric metric_;
  LearnedMetric first_, learned_;
  Matrix moved_;  // source points in place of those of the space; empty: those of the space
  Matrix x_, z_;
  Room room_;
  bool placed_ = false;        // x_ and z_ are there
  bool first_placed_ = false;  // x_ and z_ are the points of the space under the first metric
  Matrix used_;                // the moment that the metric at hand was made from
  Anderson memory_{1};
  bool accelerate_ = false, accelerated_ = false;
  int taken_back_ = 0;
};

}  // namespace remblai
