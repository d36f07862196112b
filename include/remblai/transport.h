// The transport step: entropic optimal transport between two weighted point sets for a given cost.
//   min over G in Pi(p, q) of <G, c> + lambda sum_ij G_ij ln G_ij,   G_ij = exp((f_i + g_j -
//   c_ij)/lambda)
#pragma once

#include <functional>
#include <memory>

#include "remblai/api.h"
#include "remblai/options.h"
#include "remblai/types.h"

namespace remblai {

class Kernel;

struct TransportOptions {
  double tolerance = 1e-6;  ///< largest L1 error of either marginal
  int max_passes = 100000;  ///< most sweeps over the matrix
  /// sinkhorn: plain iterations from the start. anderson: the same, extrapolated. newton: truncated
  /// Newton steps. automatic: Sinkhorn iterations while they contract fast, then Newton steps.
  SolverChoice solver = SolverChoice::automatic;
  /// Called now and then with the passes made and the error reached; false stops the solve.
  std::function<bool(int passes, double error)> keep_going;
};

/// Where and how the matrices of all pairs are kept.
struct EngineOptions {
  int threads = 1;
  /// float32 halves memory and time of a pass. Costs are then rounded to 1e-7 of the largest, and
  /// marginals can be met to about 1e-6, not better.
  Precision precision = Precision::float64;
  double memory = 0;  ///< bytes; 0 is half of what is free when the first points are set
};

/// Sweeps over the matrix, by what they do.
struct PassCounts {
  int sinkhorn = 0;      ///< iterations: both sides updated
  int products = 0;      ///< with a vector, in Newton steps and checks
  int exponentials = 0;  ///< the kernel made anew

  int all() const { return sinkhorn + products + exponentials; }
};

struct TransportResult {
  double source_error = 0;  ///< sum_i |sum_j G_ij - p_i|, measured on the returned potentials
  double target_error = 0;  ///< sum_j |sum_i G_ij - q_j|
  double cost = 0;          ///< <G, c>
  double entropy = 0;       ///< -sum G ln G
  double dual = 0;          ///< value of the dual at (f, g): a lower bound of the optimum
  double gap = 0;  ///< upper bound of primal minus dual, from G rounded onto Pi(p, q); >= 0
  int passes = 0;  ///< sweeps over the matrix
  PassCounts by_kind;
  int newton_steps = 0;
  bool converged = false;
  bool stopped = false;  ///< by keep_going
};

/// One entropic problem after another between the same two weighted sets. The potentials of the
/// last solve are the start of the next, so a sequence of nearby costs is cheap. Costs and plan
/// (with a copy in float, for Newton steps) are stored while they fit the memory; between points
/// they need not be: then every pass makes them anew, block by block. The same bits come out for
/// every number of threads, but where a Newton step factorises its matrix by a BLAS whose bits
/// depend on its own.
class REMBLAI_API Transport {
 public:
  /// Weights strictly positive, each summing to 1.
  Transport(Vector p, Vector q, const EngineOptions& engine = {});
  ~Transport();

  /// c_ij = |x_i - z_j|^2 between rows. O(m n d).
  void set_points(const Matrix& x, const Matrix& z);

  /// Is always stored.
  void set_cost(Matrix cost);

  /// Potentials g to start the next solve from, in place of those of the last one.
  void start_from(Vector g);

  /// lambda > 0, in the units of the cost.
  TransportResult solve(double lambda, const TransportOptions& options = {});

  const Vector& f() const { return f_; }
  const Vector& g() const { return g_; }
  const Vector& source_marginal() const { return row_sums_; }     ///< of the last plan
  const Vector& target_marginal() const { return column_sums_; }  ///< of the last plan

  /// G Y for the plan of the last solve. O(m n k).
  Matrix plan_times(const Matrix& y) const;
  Matrix plan() const;

 private:
  friend class Solver;
  struct Pairs;  // costs and plan
  void use(std::unique_ptr<Pairs> pairs);
  const Kernel& solved() const;  // holds the plan

  Vector p_, q_;
  EngineOptions engine_;
  std::unique_ptr<Pairs> pairs_;
  Vector f_, g_;  // empty before the first solve
  Vector row_sums_, column_sums_;
};

/// The one-call form. Zero weights are allowed: those points get the potential -infinity. `start`
/// is empty, or potentials g to begin from, one a column.
struct TransportPlan {
  Vector f, g;
  Matrix plan;
  TransportResult result;
};
REMBLAI_API TransportPlan transport(const MatrixView& cost, const Vector& p, const Vector& q,
                                    double lambda, const TransportOptions& options = {},
                                    const EngineOptions& engine = {}, const Vector& start = {});

}  // namespace remblai
