// Symmetric positive definite matrices in the coordinates of a space: priors, fixed metrics,
// ridges.
#pragma once

#include "fit/space.h"

namespace remblai {

/// scale (V inside V' + outside (I - V V')), V being the basis of the space.
struct SpanMatrix {
  Matrix inside;          ///< r x r; empty: the identity
  Matrix lower;           ///< L with inside = L L'; empty: the identity
  double outside = 1;     ///< multiple of the identity outside the span
  double scale = 1;       ///< in the units of the data, apart so that nothing overflows
  double ridge_unit = 0;  ///< of a relative ridge on second moments; 0: their own mean eigenvalue
};

/// S/tau + ridge I, S being the mean of the two centred covariances and tau = |S|_F^2/trace(S), the
/// mean of its eigenvalues weighted by themselves. Throws Error when that is singular.
SpanMatrix spread_matrix(const Space& space, double ridge);

/// The prior D of these options when the metric is learned, else the fixed metric. The space spans
/// what they need. Throws Error when the matrix cannot be had. O(r^3).
SpanMatrix reference_matrix(const Space& space, const Options& options);

}  // namespace remblai
