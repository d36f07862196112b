// How to fit: every knob, its default and its help text, in one list.
// The command line, the report and the bindings are made from for_each_option; none repeats a
// default.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

#include "remblai/api.h"
#include "remblai/resources.h"
#include "remblai/types.h"

namespace remblai {

enum class MetricChoice { learned, identity, w, w_inverse, given };
enum class PriorChoice { identity, w, w_inverse, given };
enum class Unit { relative, absolute };
enum class Preprocess { none, l2, zscore };
enum class InnerTolerance { adaptive, tight };
enum class Acceleration { none, anderson };
enum class SolverChoice { automatic, sinkhorn, anderson, newton };

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
  /// d x d, symmetric positive definite.
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

struct REMBLAI_API Options {
  ChoiceOrMatrix<MetricChoice> metric = MetricChoice::learned;
  ChoiceOrMatrix<PriorChoice> prior = PriorChoice::identity;
  double prior_ridge = 1e-3;
  double lambda = 0.2;
  Unit lambda_unit = Unit::relative;
  double relax_source = 0;
  double relax_target = 0;
  double ridge = 0.1;
  Unit ridge_unit = Unit::relative;
  double geodesic = 0.5;
  int steps = 100;
  double tolerance = 1e-6;
  double outer_tolerance = 1e-3;
  InnerTolerance inner = InnerTolerance::adaptive;
  Acceleration acceleration = Acceleration::anderson;
  SolverChoice solver = SolverChoice::automatic;
  Preprocess preprocess = Preprocess::none;
  Resources resources = {};
  int seed = 0;

  /// Throws Error naming the option, its value and the range.
  void validate() const;
};

/// Calls visit(name, field, help) for every option, in the order of the help text. `OptionsType` is
/// Options or const Options; a field is a double, an int, one of the enums above or a
/// ChoiceOrMatrix of one.
template <class OptionsType, class Visitor>
requires std::same_as<std::remove_const_t<OptionsType>, Options>
void for_each_option(OptionsType& o, Visitor&& visit) {
  visit("metric", o.metric, "ground metric: learned from the data, or fixed");
  visit("prior", o.prior, "prior D of the learned metric");
  visit("prior-ridge", o.prior_ridge, "ridge that makes W definite, times trace(W)/d");
  visit("lambda", o.lambda, "entropy weight; 0 is exact transport");
  visit(
      "lambda-unit", o.lambda_unit,
      "relative: times the mean cost between the centred clouds under the first metric; absolute: "
      "in units of the cost");
  visit("relax-source", o.relax_source,
        "weight, in the unit of lambda, of KL(row sums of the plan | source weights), which takes "
        "the place of exact row sums: the larger, the nearer to exact; 0 keeps them exact");
  visit("relax-target", o.relax_target, "the same for the column sums and the target weights");
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
  visit("preprocess", o.preprocess,
        "l2: points to unit length; zscore: columns to mean 0, deviation 1 over both domains");
  for_each_option(o.resources, visit);
  visit("seed", o.seed,
        "0 starts from the independent coupling, another number from a random perturbation of it");
}

}  // namespace remblai
