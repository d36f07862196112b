// How to fit: every knob, its default and its help text, in one list.
// The command line, the report and the bindings are made from for_each_option; none repeats a
// default.
#pragma once

#include <array>
#include <string_view>

#include "remblai/api.h"

namespace remblai {

enum class MetricChoice { learned, identity, w, w_inverse, given };
enum class PriorChoice { identity, w, w_inverse, given };
enum class Unit { relative, absolute };
enum class KnnMetric { model, euclidean };
enum class Preprocess { none, l2, zscore };
enum class InnerTolerance { adaptive, tight };
enum class Acceleration { none, anderson };
enum class SolverChoice { automatic, sinkhorn, anderson, newton };
enum class Precision { float64, float32 };

/// The spelling of each value of an enum, in order; the same in C++, on the command line and in
/// files.
constexpr std::array<std::string_view, 5> names(MetricChoice) {
  return {"learned", "identity", "w", "w-inverse", "given"};
}
constexpr std::array<std::string_view, 4> names(PriorChoice) {
  return {"identity", "w", "w-inverse", "given"};
}
constexpr std::array<std::string_view, 2> names(Unit) {
  return {"relative", "absolute"};
}
constexpr std::array<std::string_view, 2> names(KnnMetric) {
  return {"model", "euclidean"};
}
constexpr std::array<std::string_view, 3> names(Preprocess) {
  return {"none", "l2", "zscore"};
}
constexpr std::array<std::string_view, 2> names(InnerTolerance) {
  return {"adaptive", "tight"};
}
constexpr std::array<std::string_view, 2> names(Acceleration) {
  return {"none", "anderson"};
}
constexpr std::array<std::string_view, 4> names(SolverChoice) {
  return {"auto", "sinkhorn", "anderson", "newton"};
}
constexpr std::array<std::string_view, 2> names(Precision) {
  return {"double", "float"};
}

template <class Enum>
constexpr std::string_view name(Enum value) {
  return names(value)[static_cast<std::size_t>(value)];
}

struct REMBLAI_API Options {
  MetricChoice metric = MetricChoice::learned;
  PriorChoice prior = PriorChoice::identity;
  double prior_ridge = 1e-3;
  double lambda = 0.2;
  Unit lambda_unit = Unit::relative;
  double ridge = 0.1;
  Unit ridge_unit = Unit::relative;
  double geodesic = 0.5;
  int steps = 100;
  double tolerance = 1e-6;
  double outer_tolerance = 1e-3;
  InnerTolerance inner = InnerTolerance::adaptive;
  Acceleration acceleration = Acceleration::anderson;
  SolverChoice solver = SolverChoice::automatic;
  Precision precision = Precision::float64;
  int neighbours = 1;
  KnnMetric knn_metric = KnnMetric::model;
  Preprocess preprocess = Preprocess::none;
  int threads = 0;
  double memory = 0;
  int seed = 0;

  /// Throws Error naming the option, its value and the range.
  void validate() const;
};

/// Calls visit(name, field, help) for every option, in the order of the help text. `OptionsType` is
/// Options or const Options; a field is a double, an int or one of the enums above.
template <class OptionsType, class Visitor>
void for_each_option(OptionsType& o, Visitor&& visit) {
  visit("metric", o.metric, "ground metric: learned from the data, or fixed");
  visit("prior", o.prior, "prior D of the learned metric");
  visit("prior-ridge", o.prior_ridge, "ridge that makes W definite, times trace(W)/d");
  visit("lambda", o.lambda, "entropy weight; 0 is exact transport");
  visit("lambda-unit", o.lambda_unit,
        "relative: times the mean cost under the first metric; absolute: in units of the cost");
  visit("ridge", o.ridge, "ridge on the second moment C");
  visit("ridge-unit", o.ridge_unit, "relative: times trace(C0)/d; absolute: as it is");
  visit("geodesic", o.geodesic, "weight t in A = C^-1 #_t D, between 0 and 1");
  visit("steps", o.steps, "most outer steps (metric, then plan)");
  visit("tolerance", o.tolerance, "L1 error of both marginals at the end");
  visit("outer-tolerance", o.outer_tolerance,
        "stop when a step changes squared distances by less than this share (root mean square); 0 "
        "makes all steps");
  visit("inner", o.inner, "plans before the last step: adaptive tolerance, or tight");
  visit("acceleration", o.acceleration,
        "of the outer steps: none is the plain alternation; anderson looks back one step, and is "
        "taken back where the objective rises");
  visit("solver", o.solver, "how plans are found: auto goes by what the iterations show");
  visit("precision", o.precision,
        "of the matrices of all pairs; potentials and totals are double in either");
  visit("neighbours", o.neighbours, "k of the nearest-neighbour rule");
  visit("knn-metric", o.knn_metric, "metric of the nearest-neighbour rule");
  visit("preprocess", o.preprocess,
        "l2: points to unit length; zscore: columns to mean 0, deviation 1 over both domains");
  visit("threads", o.threads, "threads; 0 is one for each core");
  visit("memory", o.memory,
        "GiB for matrices of all pairs, which are made block by block when they do not fit; 0 is "
        "half of the free memory");
  visit("seed", o.seed,
        "0 starts from the independent coupling, another number from a random perturbation of it");
}

}  // namespace remblai
