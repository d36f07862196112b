// The vectors of conjugate gradients for a Newton step. They live where the kernel does, so that
// none of them travels while the iteration runs; what decides about it are a few numbers.
#pragma once

#include <memory>

#include "remblai/types.h"

namespace remblai {

class Kernel;

/// Minus the second derivative of the semi-dual at one point: diag(diagonal) - diag(b) K'
/// diag(weights) K diag(b).
struct Hessian {
  Vector diagonal, weights, b;
};

/// For H x = r with the residual r, the preconditioned residual z and the direction d. Every verb
/// is one step of the method; the method itself is in `Newton`.
class Gradients {
 public:
  virtual ~Gradients() = default;

  struct Residual {
    double product = 0;  ///< r . z
    double norm = 0;     ///< |r|_1
  };

  virtual Residual begin() = 0;                 ///< z from r, and d = z
  virtual double curvature() = 0;               ///< d . H d, in one pass over the kernel
  virtual Residual advance(double length) = 0;  ///< x += length d, r -= length H d, z from r
  virtual void turn(double share) = 0;          ///< d = z + share d
  virtual void take(Vector& x, Vector& r) = 0;  ///< what was reached
};

/// On the processor, with any kernel. `root` is null for the diagonal of H as a preconditioner;
/// else the kernel holds a factor of diag(1/root) H diag(1/root). References must outlive it.
std::unique_ptr<Gradients> gradients_on_processor(const Kernel& kernel, const Hessian& hessian,
                                                  const Vector& x, const Vector& residual,
                                                  const Vector* root);

}  // namespace remblai
