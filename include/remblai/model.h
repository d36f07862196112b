// The model that fit returns: everything that map, predict and distances need, and how it was
// reached.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "remblai/api.h"
#include "remblai/class_model.h"
#include "remblai/domain.h"
#include "remblai/error.h"
#include "remblai/exact.h"
#include "remblai/metric.h"
#include "remblai/options.h"
#include "remblai/preprocess.h"

namespace remblai {

/// One outer step: the metric comes from the plan before it, then the plan from that metric. Costs
/// are in the units of the data and the prior.
struct Step {
  int step = 0;  ///< from 1
  /// transport_cost + relaxation + prior_term + ridge_term - lambda entropy. It never rises when
  /// the inner solves are tight and the geodesic weight is 1/2.
  double objective = 0;
  double transport_cost = 0;  ///< <G, cost> = <A, C>
  double entropy = 0;         ///< -sum G ln G
  /// What relaxed marginals add to the objective, as in TransportResult; 0 where both are exact.
  double relaxation = 0;
  double mass = 1;          ///< sum G; 1 unless both marginals are relaxed
  double prior_term = 0;    ///< <A^-1, D>; 0 for a fixed metric
  double ridge_term = 0;    ///< eps trace(A); 0 for a fixed metric
  double source_error = 0;  ///< L1 error of the row sums, as in TransportResult
  double target_error = 0;  ///< L1 error of the column sums
  double duality_gap = 0;   ///< upper bound for the transport problem of this step, >= 0
  // The next three cost as much as the metric step itself. They are NaN except in the last step of
  // a run that was not stopped.
  /// |A C A - D|_F / |D|_F, where C has its ridge. It is 0 for a fixed metric, and NaN unless the
  /// geodesic weight is 1/2.
  double riccati_residual = 0;
  double metric_change = 0;  ///< affine-invariant distance to the metric before
  double condition = 1;      ///< condition number of A
  /// The root mean square of the relative changes of squared distances between source and target
  /// points, over at most 256 x 256 of them. It is 0 at the first step. The alternation ends when
  /// it is small.
  double distance_change = 0;
  int inner_iterations = 0;  ///< passes over the matrix, those of a rejected metric included
  int rejected = 0;          ///< accelerated metrics that were taken back before this one: 0 or 1
  bool inner_converged = false;
  double seconds = 0;
};

enum class Outcome { converged, iteration_limit, stopped, diverged };
constexpr std::array<std::string_view, 4> names(Outcome) {
  return {"converged", "iteration-limit", "stopped", "diverged"};
}

struct Status {
  Outcome outcome = Outcome::diverged;
  Message message = {};  ///< what happened and what to change, for every front end to spell

  std::string reason() const { return message.text(); }  ///< in the words of C++
  bool converged() const { return outcome == Outcome::converged; }
};

/// The result of a fit.
struct Model {
  Options options;
  Scaler scaler;          ///< undoes and redoes the preprocessing
  Domain source, target;  ///< preprocessed; weights normalised
  Metric metric;          ///< in preprocessed coordinates
  double lambda = 0;      ///< absolute, in units of the cost
  double ridge = 0;       ///< absolute
  /// Potentials in units of the cost: G_ij = exp((f_i + g_j - cost_ij)/lambda). They are -infinity
  /// where the weight is 0. For lambda = 0 they are the dual of the exact problem.
  Vector f, g;
  std::vector<Mass> exact;  ///< the plan itself when lambda = 0
  /// |A C A - D|_F / |D|_F with the moment C of the final plan. It says how far from a fixed point
  /// the alternation ended. It is NaN for a fixed metric or a geodesic weight other than 1/2.
  double fixed_point_residual = std::numeric_limits<double>::quiet_NaN();
  std::vector<Step> history;
  Status status;
  std::vector<std::string> features = {};  ///< names of the coordinates, or empty
  /// What a class-aware fit knows of the classes. Its plan is between the moved source points and
  /// the target points, G_ij = exp((f_i + g_j - cost_ij)/lambda) with the class term in the cost,
  /// and its row sums follow the class shares.
  std::optional<ClassModel> classes = {};
};

/// The labels of target points that the fit was given: as many as there are points, or none.
inline Labels known_labels(const Model& model) {
  return model.classes ? model.classes->known : Labels();
}

/// A model that was fitted by several processes (Resources::comm) has the source points of its own
/// rank, with their labels, weights and potentials f; all else is the same on every rank. This is
/// the model of all source points, on rank 0, as one process would have it. On the other ranks it
/// is the model without source points. All ranks call it. A model that is moved in is not copied.
REMBLAI_API Model gathered(Model model);

/// The transport plan, m x n. It is made from the potentials, or from the masses of an exact plan.
REMBLAI_API Matrix plan(const Model& model);

/// The same some rows at a time, from number `first` on and in order, so that no matrix of that
/// size is needed. Of a model of several ranks these are the rows of this one.
REMBLAI_API void visit_plan(const Model& model,
                            const std::function<void(Index first, const Matrix& rows)>& visit);

}  // namespace remblai
