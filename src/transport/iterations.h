// Sinkhorn iterations whose vectors live where the kernel does, so that none of them travels while
// they run; what decides about them are a few numbers.
#pragma once

#include "remblai/types.h"

namespace remblai {

/// For a plan diag(a) K diag(b) between two exact sides, whose rows are met.
class Iterations {
 public:
  virtual ~Iterations() = default;

  struct Seen {
    double error = 0;      ///< the L1 error of the columns
    bool in_range = true;  ///< a and b are, as `Scaling` wants them
  };

  /// Meets the columns, then the rows again, in one pass. With `more` the next iteration is begun
  /// before this one is looked at.
  virtual Seen step(bool more) = 0;

  /// What was reached, at the end of all that was begun; `sums` are K' a.
  virtual void take(Vector& a, Vector& b, Vector& sums) = 0;
};

}  // namespace remblai
