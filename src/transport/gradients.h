// The vectors of conjugate gradients for a Newton step. They live where the kernel does, so that
// none of them travels while the iteration runs; what decides about it are a few numbers.
#pragma once

#include <memory>
#include <optional>

#include "remblai/types.h"

namespace remblai {

class Kernel;

/// Minus the second derivative of the semi-dual at one point: diag(diagonal) - diag(b) K'
/// diag(weights) K diag(b).
struct Hessian {
  Vector diagonal, weights, b;
  bool singular = false;  ///< with the null vector 1, as between two exact sides
};

/// For H x = r with the residual r, the preconditioned residual z and the direction d. The choice
/// of H and of its preconditioner, and the end of the iteration, are with `Newton`.
class Gradients {
 public:
  virtual ~Gradients() = default;

  /// z from r, and d = z. Returns |r|_1; no step is wanted any more once that is `enough`.
  virtual double begin(double enough) = 0;

  /// One iteration, in one pass over the kernel: x += t d and r -= t H d with t = (r . z)/(d . H
  /// d), z from r, and d = z + s d with s = r . z over that of the step before. Returns |r|_1, and
  /// nothing where d . H d is not positive: x and r stay then. With `more` the next iteration may
  /// be begun before this one is looked at.
  virtual std::optional<double> step(bool more) = 0;

  /// What was reached.
  virtual void take(Vector& x, Vector& r) = 0;
};

/// On the processor, with any kernel. `root` is null for the diagonal of H as a preconditioner;
/// else the kernel holds a factor of diag(1/root) H diag(1/root). References must outlive it.
std::unique_ptr<Gradients> gradients_on_processor(const Kernel& kernel, const Hessian& hessian,
                                                  const Vector& x, const Vector& residual,
                                                  const Vector* root);

}  // namespace remblai
