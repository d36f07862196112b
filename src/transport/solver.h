// Finds the potentials of an entropic transport problem: lambda is lowered in stages, and in each
// the marginals are met by Sinkhorn iterations while these contract fast, else by Newton steps.
#pragma once

#include "transport/kernel.h"

namespace remblai {

struct Potentials {
  Vector f, g;  ///< in units of the cost; g is empty before the first solve
};

/// What a solve leaves behind, beside the potentials: `kernel` holds the plan itself, unless the
/// solve was stopped in the middle of a pass.
struct Solved {
  TransportResult result;
  Kernel::Sums sums;  ///< of the plan
  bool has_plan = false;
};

/// `kernel` uses `cost`. `potentials` are where the solve begins (their g, where there is one) and
/// what it ends with. lambda > 0, in the units of the cost.
Solved find_potentials(Kernel& kernel, const GroundCost& cost, const Marginal& rows,
                       const Marginal& columns, double lambda, const TransportOptions& options,
                       Potentials& potentials);

}  // namespace remblai
