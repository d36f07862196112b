// Fits of one problem, one after another, that share what they can: the span of the data, the first
// metric, the memory of the plans, and the potentials to start from.
#pragma once

#include <memory>
#include <optional>

#include "fit/alternation.h"

namespace remblai {

/// A copy of a problem, for a session to take. Its memory is touched by so many threads.
Problem copy_of(const Problem& problem, int threads);

class Session {
 public:
  /// Checks the problem and places its points. `options` say how points are preprocessed and where
  /// the work is done; later fits share that. Throws Error on input that cannot be used.
  Session(Problem problem, const Options& options, Span span);

  /// How a fit begins and whom it tells.
  struct Run {
    Diagnostics diagnostics = Diagnostics::full;
    Callback callback = {};
    const Model* start = nullptr;  ///< as in `fit`
    Checkpoint checkpoint = {};    ///< as in `fit`
    /// No other fit follows: while it runs, each of several ranks has a share of what only the
    /// model needs of the target. `released_model` brings that together again.
    bool only = false;
  };

  /// One fit. The result is the one that a session of its own would have, up to the tolerances:
  /// every fit begins at the first metric, and only the first plan starts from that of the fit
  /// before.
  void fit(const Options& options, const Run& run);

  // The last fit.
  const Options& options() const { return options_; }
  const std::vector<Step>& history() const { return outcomes_.history; }
  const Status& status() const { return outcomes_.status; }
  const Space& space() const { return *space_; }
  const Scaler& scaler() const { return shared_.scaler; }
  const Labels& source_labels() const { return shared_.source.labels; }
  const MetricLearner& learner() const { return *learner_; }
  const Planner& planner() const { return *planner_; }
  int metric_version() const { return metric_version_; }  ///< changes whenever the metric does
  Model model() const;

  /// The same from a session that is at its end: the points are moved, not copied.
  Model released_model();

  /// Throws Error unless the last fit was made: none was, or its options were refused.
  void require_fit() const;

 private:
  void use_space(const Options& options);
  void use_metric(const Options& options);
  ClassModel class_model(ClassModel classes, const Matrix& targets) const;

  /// What the parts of a fit leave to a model.
  struct Ends {
    Vector f, g;
    std::vector<Mass> masses;
    std::optional<ClassModel> classes;
  };
  Ends ends() const;
  Model completed(Model model, Ends ends) const;
  void use_planner(const Options& options);
  Matrix first_moment(const Options& options, const Model* start, Vector& g) const;
  bool fits(const RunState& state) const;

  Shard all_;                    // of the source points, those of weight zero included
  bool target_divided_ = false;  // each rank has a share of the target points
  Model shared_;                 // what every model of the session has in common
  Labels known_labels_;          // of target points, to fit with; or empty
  Span span_;
  std::unique_ptr<Space> space_;      // at one place, because the learner refers to it
  std::optional<ClassStep> classes_;  // of the last class-aware fit
  std::optional<MetricLearner> learner_;
  int metric_version_ = 0;
  double mean_cost_ = 1;  // between the centred clouds under the first metric, embedded
  std::unique_ptr<Planner> entropic_, exact_;
  Planner* planner_ = nullptr;
  Vector first_g_;          // potentials of the first plan of the last fit under this metric
  Options metric_options_;  // that the learner was made for
  Options options_;
  bool has_fit_ = false;
  double lambda_ = 0;  // absolute, in the units of the data
  Outcomes outcomes_;
};

}  // namespace remblai
