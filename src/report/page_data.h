// What a page shows of a model, as numbers: the metric, where the mass goes, the points on a plane,
// and what to be warned of. page_sections.h turns them into words, tables and charts.
#pragma once

#include <string>
#include <vector>

#include "remblai/diagnosis.h"
#include "remblai/model.h"
#include "remblai/page.h"

namespace remblai {

/// `most` of the places that `weights` has mass at, ascending; the same ones every time.
std::vector<Index> sampled_rows(const Vector& weights, Index most);

/// The metric by its axes and by the features. Eigenvalues are relative to their mean inside the
/// span of the data and depend on the units of the features; stretches do not.
struct MetricView {
  Vector eigenvalues;  ///< inside the span of the data, descending
  double outside = 1;  ///< the eigenvalue of every direction outside of it
  Index outside_count = 0;
  double mean = 1;     ///< the mean eigenvalue of A itself inside the span
  Matrix most, least;  ///< unit axes of the largest and of the smallest eigenvalues, one a row
  /// sqrt(A_kk) times the standard deviation of feature k over both clouds, half of the weight
  /// each: the length of a typical step along it. Relative to the mean over the features that vary.
  Vector stretch;
  std::vector<Index> by_stretch;  ///< the features that vary at all, least stretched first
};
MetricView view_metric(const Model& model, Index most_directions);

/// Labels as a page shows them: the most frequent by themselves, the rest together.
struct Classes {
  Labels shown;         ///< ascending
  bool others = false;  ///< there is a rest, which comes last

  Index size() const { return shown.size() + (others ? 1 : 0); }
  Index index(std::int64_t label) const;
};
Classes group_classes(const Labels& labels, Index most);

struct Pair {
  Index source = 0;
  Index target = 0;
  double mass = 0;   ///< of the whole plan
  double share = 0;  ///< of the mass of the source point
};

/// Where the mass goes.
struct PlanView {
  Classes source_classes, target_classes;
  Matrix mass;              ///< source classes x target classes, sums to 1; empty without labels
  std::vector<Pair> pairs;  ///< strongest first, every point once at most
  Index rows = 0;           ///< source points looked at, of every class with mass some
};
struct PlanLimits {
  Index rows = 4000;   ///< source points to look at, about
  Index pairs = 12;    ///< to keep
  Index classes = 24;  ///< of each domain to tell apart
};
PlanView view_plan(const Model& model, const Labels& target_labels, const PlanLimits& limits = {});

/// Points on the first two principal axes of both clouds, in the metric of the model. The square of
/// a distance on the plane is that part of the squared distance under A.
struct Projection {
  std::vector<Index> source, target;       ///< rows of the model
  Matrix mapped;                           ///< where those source points go, preprocessed
  Matrix source_at, mapped_at, target_at;  ///< on the plane
  double shares[2] = {0, 0};               ///< of the variance
};
Projection project(const Model& model, Index most_points);

/// The size of the images that the points are; 0 x 0 when they do not look like any: d is a square,
/// 25 or more, values lie in 0..1 or are whole in 0..255, features have no names, and neighbouring
/// pixels differ less than distant ones, across about as much as down.
ImageSize image_size(const Model& model, const PageOptions& options);

/// Labels of the target points; either may be empty.
struct Known {
  Labels truth, guesses;
};

/// What a reader of the page should know, with options as `spelling` has them: all of `warnings`,
/// and what the labels and the end of the fit tell.
std::vector<Warning> warnings_on(const Model& model, const Known& known, const PageOptions& options,
                                 const Spelling& spelling);

/// The distinct labels, ascending.
Labels classes_of(const Labels& labels);

std::string class_name(std::int64_t label, const PageOptions& options);

}  // namespace remblai
