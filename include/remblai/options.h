// How to fit: every knob, its default and its help text, in one list.
// The command line, the report and the bindings are made from for_each_option; none repeats a
// default.
#pragma once

#include <array>
#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "remblai/api.h"
#include "remblai/resources.h"
#include "remblai/types.h"

namespace remblai {

enum class Method { paper, class_aware };
enum class MetricChoice { learned, identity, w, w_inverse, given };
enum class PriorChoice { automatic, identity, w, w_inverse, spread, given };
enum class Unit { relative, absolute };
enum class Preprocess { none, l2, zscore, centre, standardise, hellinger };
enum class InnerTolerance { adaptive, tight };
enum class Acceleration { none, anderson };
enum class SolverChoice { automatic, sinkhorn, anderson, newton };
enum class Translation { automatic, no, yes };
enum class Caution { automatic, cautious, bold };
enum class SharesChoice { estimated, source, uniform, given };

/// The spelling of each value of an enum, in order; the same in C++, on the command line and in
/// files.
constexpr std::array<std::string_view, 2> names(Method) {
  return {"paper", "class-aware"};
}
constexpr std::array<std::string_view, 5> names(MetricChoice) {
  return {"learned", "identity", "w", "w-inverse", "given"};
}
constexpr std::array<std::string_view, 6> names(PriorChoice) {
  return {"auto", "identity", "w", "w-inverse", "spread", "given"};
}
constexpr std::array<std::string_view, 2> names(Unit) {
  return {"relative", "absolute"};
}
constexpr std::array<std::string_view, 6> names(Preprocess) {
  return {"none", "l2", "zscore", "centre", "standardise", "hellinger"};
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
constexpr std::array<std::string_view, 3> names(Translation) {
  return {"auto", "no", "yes"};
}
constexpr std::array<std::string_view, 3> names(Caution) {
  return {"auto", "cautious", "bold"};
}
constexpr std::array<std::string_view, 4> names(SharesChoice) {
  return {"estimated", "source", "uniform", "given"};
}

template <class Enum>
constexpr std::string_view name(Enum value) {
  return names(value)[static_cast<std::size_t>(value)];
}

/// One of the choices that have a name, or a matrix of the caller's own in place of them. There is
/// no second place for the matrix, so one that was given cannot be overlooked.
template <class Choice>
class ChoiceOrMatrix {
 public:
  ChoiceOrMatrix(Choice choice) : kind_(choice) {}
  /// A metric or prior is d x d, symmetric positive definite. Class shares are one row.
  ChoiceOrMatrix(Matrix matrix) : kind_(Choice::given), matrix_(std::move(matrix)) {}

  Choice kind() const { return kind_; }  ///< `given` for a matrix
  /// Empty unless the kind is `given`; empty then, too, in the options of a model that was loaded:
  /// its file names the kind alone.
  const Matrix& matrix() const { return matrix_; }

  friend bool operator==(const ChoiceOrMatrix& a, Choice choice) { return a.kind_ == choice; }

 private:
  Choice kind_;
  Matrix matrix_;
};

template <class Choice>
std::string_view name(const ChoiceOrMatrix<Choice>& value) {
  return name(value.kind());
}

/// What the class-aware method has beside the options of every fit. docs/method.md has the
/// formulas.
struct REMBLAI_API ClassOptions {
  double opinion = 0.5;
  double smoothing = 0.1;
  double kernel_width = 0.8;
  double share_prior = 0.5;
  Translation translation = Translation::automatic;
  Caution caution = Caution::automatic;
  /// One row with a share for each class of the source, in ascending order of the labels.
  ChoiceOrMatrix<SharesChoice> target_shares = SharesChoice::estimated;
  int landmarks = 3000;

  /// Throws Error naming the option, its value and the range.
  void validate() const;
};

/// Calls visit(name, field, help) for every field, as for_each_option of Options does.
template <class OptionsType, class Visitor>
requires std::same_as<std::remove_const_t<OptionsType>, ClassOptions>
void for_each_option(OptionsType& o, Visitor&& visit) {
  visit("opinion", o.opinion,
        "class-aware: weight of the classifier's opinion in the cost of the plan, in units of "
        "lambda");
  visit("smoothing", o.smoothing, "class-aware: ridge of the kernel classifiers");
  visit("kernel-width", o.kernel_width,
        "class-aware: width of the Gaussian kernels, times the mean cost; half of it and twice as "
        "much are tried too");
  visit("share-prior", o.share_prior,
        "class-aware: points that every class of the target is given beforehand, where its shares "
        "are estimated");
  visit("translation", o.translation,
        "class-aware: whether the source is first moved onto the mean of the target; auto looks "
        "which explains the target better");
  visit("caution", o.caution,
        "class-aware: whether estimated class shares stay near those of the source where the "
        "classifier is not reliable; auto looks which explains the target better");
  visit("target-shares", o.target_shares,
        "class-aware: class shares of the target, estimated or known");
  visit("landmarks", o.landmarks,
        "class-aware: points up to which kernel systems are solved exactly; beyond, so many points "
        "stand for all; fewer where memory is given and has no room for them, 64 bytes times "
        "their square");
}

/// Leaves an option to the method. No value that makes sense is as low.
inline constexpr double by_method = std::numeric_limits<double>::lowest();
inline constexpr int steps_by_method = std::numeric_limits<int>::min();

struct REMBLAI_API Options {
  Method method = Method::paper;
  ChoiceOrMatrix<MetricChoice> metric = MetricChoice::learned;
  // What is left to the method has the default of the paper's | the class-aware method.
  ChoiceOrMatrix<PriorChoice> prior = PriorChoice::automatic;  ///< identity | spread
  double prior_ridge = by_method;                              ///< 0.001 | 0.01
  double lambda = by_method;                                   ///< 0.2 | 0.1
  Unit lambda_unit = Unit::relative;
  double relax_source = 0;
  double relax_target = 0;
  double ridge = by_method;  ///< 0.1 | 3
  Unit ridge_unit = Unit::relative;
  double geodesic = 0.5;
  int steps = steps_by_method;  ///< 100 | 3
  double tolerance = 1e-6;
  double outer_tolerance = 1e-3;
  InnerTolerance inner = InnerTolerance::adaptive;
  Acceleration acceleration = Acceleration::anderson;
  SolverChoice solver = SolverChoice::automatic;
  Preprocess preprocess = Preprocess::none;
  ClassOptions classes = {};
  Resources resources = {};
  int seed = 0;

  /// The same options with nothing left to the method: numbers in place of `by_method`, and a prior
  /// in place of `automatic`.
  Options resolved() const;

  /// Throws Error naming the option, its value and the range.
  void validate() const;

 private:
  void validate_resolved() const;
};

/// Calls visit(name, field, help) for every option, in the order of the help text. `OptionsType` is
/// Options or const Options; a field is a double, an int, one of the enums above or a
/// ChoiceOrMatrix of one.
template <class OptionsType, class Visitor>
requires std::same_as<std::remove_const_t<OptionsType>, Options>
void for_each_option(OptionsType& o, Visitor&& visit) {
  visit("method", o.method,
        "class-aware: plan, metric and class shares from a classifier of the source; paper: "
        "Algorithm 1 as published; each has its own defaults for prior, prior-ridge, lambda, ridge "
        "and steps");
  visit("metric", o.metric, "ground metric: learned from the data, or fixed");
  visit("prior", o.prior,
        "prior D of the learned metric; auto: identity, or spread for the class-aware method");
  visit("prior-ridge", o.prior_ridge,
        "ridge that makes W definite, times trace(W)/d; with the prior spread, times its unit "
        "|S|^2/trace(S)");
  visit("lambda", o.lambda, "entropy weight; 0 is exact transport");
  visit("lambda-unit", o.lambda_unit,
        "relative: times the mean cost between the centred clouds under the first metric, or, "
        "class-aware, between the moved clouds of each step; absolute: in units of the cost");
  visit("relax-source", o.relax_source,
        "weight, in the unit of lambda, of KL(row sums of the plan | source weights), which takes "
        "the place of exact row sums: the larger, the nearer to exact; 0 keeps them exact");
  visit("relax-target", o.relax_target, "the same for the column sums and the target weights");
  visit("ridge", o.ridge, "ridge on the second moment C");
  visit("ridge-unit", o.ridge_unit,
        "relative: times trace(C0)/d, or, with the prior spread, its unit |S|^2/trace(S); "
        "absolute: as it is");
  visit("geodesic", o.geodesic, "weight t in A = C^-1 #_t D, between 0 and 1");
  visit("steps", o.steps,
        "most outer steps (metric, then plan); the class-aware method makes exactly so many");
  visit("tolerance", o.tolerance, "L1 error of both marginals at the end");
  visit("outer-tolerance", o.outer_tolerance,
        "stop when a step changes squared distances by less than this share (root mean square); 0 "
        "makes all steps, as the class-aware method always does");
  visit("inner", o.inner, "plans before the last step: adaptive tolerance, or tight");
  visit("acceleration", o.acceleration,
        "of the outer steps: none is the plain alternation; anderson looks back one step, and is "
        "taken back where the objective rises; the class-aware method has none");
  visit("solver", o.solver, "how plans are found: auto goes by what the iterations show");
  visit("preprocess", o.preprocess,
        "l2: points to unit length; zscore: columns to mean 0, deviation 1 over both domains; "
        "centre: each domain to its own mean; standardise: zscore for each domain by itself; "
        "hellinger: for histograms, square roots of shares");
  for_each_option(o.classes, visit);
  for_each_option(o.resources, visit);
  visit("seed", o.seed,
        "0 starts from the independent coupling, another number from a random perturbation of it; "
        "the class-aware method starts from its classes");
}

}  // namespace remblai
