// Plans between the points of a space under one metric after another: entropic for lambda > 0,
// exact for lambda = 0. This is the one place of a fit that tells them apart.
#pragma once

#include <functional>
#include <memory>

#include "fit/moment.h"
#include "remblai/exact.h"
#include "remblai/transport.h"

namespace remblai {

/// Called now and then with the passes made and the error reached; false stops the solve.
using KeepGoing = std::function<bool(int passes, double error)>;

/// Called now and then with a function that gives the potentials of the columns reached so far.
using Snapshot = std::function<void(const std::function<Vector()>& g)>;

/// How a plan is asked for, in units of the cost between embedded points.
struct PlanOptions {
  double lambda = 0;
  double relax_source = 0, relax_target = 0;  ///< tau of a relaxed side; 0: exact
  SolverChoice solver = SolverChoice::automatic;
};

class Planner {
 public:
  virtual ~Planner() = default;

  /// The problem for the next plans. Potentials of the last plan are kept as a start.
  virtual void prepare(const PlanOptions& options) = 0;

  /// The costs for the next plan: squared distances between the rows, whose memory they take. With
  /// `shares` each rank gives its share of the target points in place of all.
  virtual void take_points(PointPair points, bool shares) = 0;

  /// That memory, or a part of it, from costs that are not needed any more. There is no plan until
  /// the next points, but potentials are.
  virtual PointPair released_points() = 0;

  /// The costs of such points plus left_i.right_j, and other row sums.
  virtual void set_classes(const Matrix& x, const Matrix& z, const Matrix& left,
                           const Matrix& right, const Vector& p) = 0;

  /// Potentials of the columns to begin from; empty: none.
  virtual void start_from(const Vector& g) = 0;

  /// `snapshot` may be empty.
  virtual TransportResult solve(double tolerance, const KeepGoing& keep_going,
                                const Snapshot& snapshot) = 0;

  // The last plan G.
  /// G Y and the marginals.
  virtual PlanMoments moments(const Matrix& y, bool shares = false) const = 0;
  virtual Matrix transposed_times(const Matrix& y) const = 0;  ///< G' Y
  virtual Matrix plan() const = 0;                             ///< m x n
  virtual const Vector& f() const = 0;
  virtual const Vector& g() const = 0;
  virtual const std::vector<Mass>& masses() const = 0;  ///< empty for an entropic plan
};

/// `exact` plans are those of lambda = 0.
std::unique_ptr<Planner> make_planner(bool exact, const Vector& p, const Vector& q,
                                      const Resources& resources);

}  // namespace remblai
