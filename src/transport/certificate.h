// How good the potentials of a transport problem are, measured on the plan they stand for.
#pragma once

#include "transport/solver.h"

namespace remblai {

/// Measures errors, cost, entropy and dual on a fresh pass over the kernel, which holds the plan
/// afterwards, and bounds the duality gap from above. `result.converged` stays only where both
/// sides meet the tolerance. Returns the sums of the plan.
Kernel::Sums certify(Kernel& kernel, const Marginal& rows, const Marginal& columns, double lambda,
                     const Potentials& potentials, double tolerance, TransportResult& result);

}  // namespace remblai
