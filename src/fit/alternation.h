// Algorithm 1 in the coordinates of a Space: metric step and transport step in turn, for one lambda
// after another. `fit` wraps one run of it into a Model.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fit/metric_step.h"
#include "fit/moment.h"
#include "remblai/fit.h"
#include "remblai/transport.h"
#include "transport/anderson.h"

namespace remblai {

/// What the last step of a history tells of the metric: everything, or only what costs nothing. The
/// distance between two metrics, the condition and the residual take about as long as the metric
/// step itself.
enum class Diagnostics { full, brief };

/// Where to begin instead of the independent coupling; empty: there.
struct Start {
  Matrix moment;  ///< of a plan, in the coordinates of the space; read when the metric is learned
  Vector g;       ///< its potentials, in units of the cost
};

class Alternation {
 public:
  /// `space` and `options` must outlive it. Fixes the ridge, the first metric and the unit of
  /// lambda. Throws Error when the metric cannot be had, or its costs not be held in double
  /// precision.
  Alternation(const Space& space, const Options& options, int threads,
              Diagnostics diagnostics = Diagnostics::full, Callback callback = {},
              const Start& start = {});

  /// From the first metric to the end, for this lambda (Options::lambda is not read). What does not
  /// depend on lambda is kept from run to run, and the first plan starts from that of the run
  /// before: a path from large to small lambda is cheap. Throws Error when lambda is out of range.
  void run(double lambda);

  // The state that the last run reached.
  const Metric& metric() const { return metric_; }
  double lambda() const { return absolute_lambda_; }  ///< in units of the cost
  double ridge() const;                               ///< absolute
  const Vector& f() const { return f_; }  ///< of points of positive weight, in units of the cost
  const Vector& g() const { return g_; }
  const std::vector<Mass>& exact() const { return exact_; }  ///< lambda = 0: rows of the space
  const std::vector<Step>& history() const { return history_; }
  const Status& status() const { return status_; }

  /// |A C A - D|_F / |D|_F with the moment of the last plan; NaN for a fixed metric.
  double fixed_point_residual() const;

  /// Points in the coordinates of the space, so that squared distances are costs over the unit.
  Matrix embed(const Matrix& points) const;

  /// The rows of the plan, each divided by its sum.
  Matrix conditionals() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool learned() const { return options_.metric == MetricChoice::learned; }
  void fixed_metric();
  void first_learned_metric();
  PlanMoments plan_moments() const;
  LearnedMetric learn_first(const Matrix& moment) const;
  void use(LearnedMetric metric);
  void place_points();
  double mean_cost() const;
  void begin(double lambda);
  bool step();
  bool accelerated_step(const Matrix& moment, Step& record);
  bool learn(const Matrix& moment);
  Step plan_step();
  bool settled() const;
  bool last_step() const;
  void judge(const LearnedMetric& before, Step& record) const;
  void conclude(const Step& last);
  void entropic_step(Step& record, double tolerance);
  void exact_step(Step& record);
  bool report(const Step* record, int passes, double error);
  std::string singular_reason() const;

  const Space& space_;
  const Options& options_;
  Diagnostics diagnostics_;
  Callback callback_;

  // The same for every lambda.
  std::unique_ptr<MetricStep> metric_step_;
  LearnedMetric first_;       // the metric of the first step
  double ridge_ = 0;          // in the coordinates of the space
  double unit_cost_ = 1;      // mean cost of the independent coupling, between embedded points
  double prior_scale_ = 1;    // <A^-1, D> in units of the data
  Matrix first_moment_;       // that it was made from
  Matrix first_x_, first_z_;  // embedded by it
  Vector first_g_;            // potentials of the first plan of the last run

  // Of the run.
  Clock::time_point start_, last_report_;
  double lambda_ = 0;  // in units of the cost between embedded points
  double absolute_lambda_ = 0;
  Metric metric_;
  LearnedMetric learned_;
  Matrix moment_;       // that the metric was made from
  Anderson memory_{1};  // of the moments
  bool accelerate_ = false;
  Matrix x_, z_;       // embedded
  Matrix seen_, now_;  // squared distances of a few pairs, at the last step and at this one
  double change_ = 0;
  Transport transport_;
  bool has_costs_ = false;  // those of a fixed metric stay the same
  Vector f_, g_;
  std::vector<Mass> exact_;
  std::vector<Step> history_;
  Status status_;
  bool stopped_ = false;
};

}  // namespace remblai
