// Truncated Newton steps on the semi-dual of a transport problem, a concave function of the column
// potentials alone: the row potentials are the best ones for them.
#pragma once

#include <functional>

#include "transport/scaling.h"

namespace remblai {

/// With P = diag(a) K diag(b), met rows r and column sums s, and h = ln b:
///   gradient   = wanted - s
///   -Hessian H = diag(s + lambda curvature wanted) - P' diag(power/r) P,
/// curvature being that of the columns' rule and power that of the rows'. Both are per lambda. With
/// two exact sides H has the null vector 1, to which the gradient is orthogonal.
class Newton {
 public:
  /// References must outlive it. `keep_going` is asked before every pass.
  Newton(Kernel& kernel, const Marginal& rows, const Marginal& columns,
         std::function<bool()> keep_going);

  /// The kernel belongs to another lambda now, so a factor of the Hessian is out of date.
  void lambda_changed();

  /// Moves the columns along the Newton direction, by a step that raises the dual (Armijo). `error`
  /// is that of the columns, `tolerance` what is asked for in the end.
  void step(Scaling& scaling, double error, double tolerance);

  int steps() const { return steps_; }

 private:
  Vector direction(const Scaling& scaling, double error, double tolerance, double& slope);
  bool factorise(const Hessian& hessian);
  bool solve(const Hessian& hessian, double enough, int most, Vector& x, Vector& residual) const;

  Kernel& kernel_;
  const Marginal& rows_;
  const Marginal& columns_;
  std::function<bool()> keep_going_;
  int steps_ = 0;
  Vector root_;                // that the Hessian was scaled by before it was factorised
  bool factored_ = false;      // the kernel holds a factor, which is the preconditioner
  bool stale_ = false;         // the factor belongs to another lambda
  bool unfactorable_ = false;  // at this lambda
};

}  // namespace remblai
