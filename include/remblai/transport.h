// The transport step: entropic optimal transport between two weighted point sets for a given cost,
//   min over G >= 0 of <G, c> + lambda sum_ij G_ij ln G_ij,
// with the solution G_ij = exp((f_i + g_j - c_ij)/lambda). The sums of G over each side are given,
// or drawn towards given weights.
#pragma once

#include <functional>
#include <memory>

#include "remblai/api.h"
#include "remblai/devices.h"
#include "remblai/options.h"
#include "remblai/types.h"

namespace remblai {

struct TransportOptions {
  double tolerance = 1e-6;  ///< largest L1 error of either marginal
  /// Most iterations (PassCounts::fused). The few sweeps that make the kernel, a preconditioner or
  /// the certificate are not counted.
  int max_passes = 100000;
  /// sinkhorn: plain iterations from the start. anderson: the same, extrapolated. newton: truncated
  /// Newton steps. automatic: Sinkhorn iterations while they contract fast, then Newton steps.
  SolverChoice solver = SolverChoice::automatic;
  /// Called now and then with the passes made and the error reached; false stops the solve.
  std::function<bool(int passes, double error)> keep_going = {};
  /// Called as often, with a function that gives the potentials g reached so far.
  std::function<void(const std::function<Vector()>& g)> snapshot = {};
  /// A positive tau replaces the condition on the row sums by tau KL(row sums | p) in the
  /// objective, with KL(x | w) = sum x ln(x/w) - x + w, and measures the entropy against p. It is
  /// in units of the cost. 0 keeps the sums exact.
  double relax_source = 0;
  double relax_target = 0;  ///< the same for the column sums
};

/// Sweeps over the matrix, by what they do.
struct PassCounts {
  int fused = 0;         ///< K x and K' y at once: Sinkhorn iterations and conjugate gradients
  int products = 0;      ///< with a vector or a matrix
  int exponentials = 0;  ///< the kernel made anew

  int all() const { return fused + products + exponentials; }
};

struct TransportResult {
  /// The L1 distance of the row sums from p. Where they are relaxed, from where the potentials
  /// say that the optimum has them, p exp(-(f - lambda ln p)/tau). Measured on the returned
  /// potentials.
  double source_error = 0;
  double target_error = 0;  ///< the same for the column sums
  double cost = 0;          ///< <G, c>
  double entropy = 0;       ///< -sum G ln G
  double mass = 0;          ///< sum G; 1 unless both sides are relaxed or the weights sum to more
  /// What relaxed sides add to the objective: tau KL(x | w) - lambda sum_i (x_i - w_i) ln w_i for
  /// the sums x and weights w of each of them, and lambda (sum p - mass) once. 0 for two exact
  /// sides.
  double relaxation = 0;
  double dual = 0;  ///< value of the dual at (f, g): a lower bound of the optimum
  double gap = 0;   ///< upper bound of primal minus dual for a feasible plan near G; >= 0
  int passes = 0;   ///< sweeps over the matrix
  PassCounts by_kind;
  int newton_steps = 0;
  bool converged = false;
  /// By keep_going. Where rows are made in every pass and one takes long, it is stopped in the
  /// middle: then there is no plan, the potentials are those of the last whole pass, and what would
  /// have to be measured on the plan is NaN.
  bool stopped = false;

  /// The value that is minimised, for the plan G of the potentials.
  double objective(double lambda) const { return cost - lambda * entropy + relaxation; }
};

/// One entropic problem after another between the same two weighted sets. The potentials of the
/// last solve are the start of the next, so a sequence of nearby costs is cheap. Costs and plan
/// (with a copy in float, for Newton steps) are stored while they fit the memory; between points
/// they need not be: then every pass makes them anew, block by block. Memory is kept from one cost
/// to the next. The same bits come out for every number of threads, but where a Newton step
/// factorises its matrix by a BLAS whose bits depend on its own.
class REMBLAI_API Transport {
 public:
  /// Weights strictly positive. Each sums to 1, unless a solve relaxes its side.
  Transport(Vector p, Vector q, const Resources& resources = {});
  ~Transport();
  Transport(Transport&&) noexcept;
  Transport& operator=(Transport&&) noexcept;

  /// Other weights for the source side, as many as before. Costs and potentials stay.
  void set_source_weights(Vector p);

  /// c_ij = |x_i - z_j|^2 between rows. Accurate wherever the points lie. O((m + n) d), and O(m n
  /// d) when the costs are stored.
  void set_points(const Matrix& x, const Matrix& z);

  /// The same plus left_i.right_j, for matrices with a row a point. A cost by class needs one
  /// column a class: the indicator of the class on one side, its cost on the other.
  void set_points(const Matrix& x, const Matrix& z, const Matrix& left, const Matrix& right);

  /// The costs of points whose memory it takes. With `shares` each rank gives its share of the
  /// target points (`share_of`) in place of all.
  void take_points(PointPair points, bool shares = false);

  /// That memory, or as much of it as is left. Costs and plan are gone; potentials stay.
  PointPair released_points();

  /// Is always stored.
  void set_cost(Matrix cost);

  /// Costs on the GPU that the resources name, which are copied there. What was to write them is
  /// waited for. They are not needed any more when the call returns.
  void set_cost(const MatrixOnGpu& cost);

  /// Potentials g to start the next solve from, in place of those of the last one.
  void start_from(Vector g);

  /// lambda > 0, in the units of the cost.
  TransportResult solve(double lambda, const TransportOptions& options = {});

  const Vector& f() const;
  const Vector& g() const;
  const Vector& source_marginal() const;  ///< row sums of the last plan
  const Vector& target_marginal() const;  ///< column sums of the last plan

  /// G Y for the plan of the last solve, and `shares` as above. O(m n k).
  Matrix plan_times(const Matrix& y, bool shares = false) const;
  Matrix transposed_plan_times(const Matrix& y) const;  ///< G' Y
  Matrix plan() const;

  /// The same in double on the GPU that the resources name.
  MatrixOnGpu plan_on_gpu() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The one-call form. Zero weights are allowed: those points get the potential -infinity. Weights
/// are divided by their sum unless a side is relaxed: then they are used as they are. `start` is
/// empty, or potentials g to begin from, one a column.
struct TransportPlan {
  Vector f, g;
  Matrix plan;
  TransportResult result;
};
REMBLAI_API TransportPlan transport(const MatrixView& cost, const Vector& p, const Vector& q,
                                    double lambda, const TransportOptions& options = {},
                                    const Resources& resources = {}, const Vector& start = {});

/// The same for costs on a GPU, which solves it. Neither costs nor plan come to the processor: the
/// plan stays there, in double. All weights must be positive.
struct TransportOnGpu {
  Vector f, g;
  MatrixOnGpu plan;
  TransportResult result;
};
REMBLAI_API TransportOnGpu transport(const MatrixOnGpu& cost, const Vector& p, const Vector& q,
                                     double lambda, const TransportOptions& options = {},
                                     const Resources& resources = {}, const Vector& start = {});

}  // namespace remblai
