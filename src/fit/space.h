// The problem as the iterations see it: points of positive weight, in coordinates of the span of
// the data, divided by their size; and the prior or the fixed metric in the same coordinates.
#pragma once

#include <vector>

#include "remblai/domain.h"
#include "remblai/metric.h"
#include "remblai/options.h"

namespace remblai {

/// A symmetric positive definite matrix: scale (V inside V' + outside (I - V V')).
struct SpanMatrix {
  Matrix inside;       ///< r x r; empty: the identity
  Matrix lower;        ///< L with inside = L L'; empty: the identity
  double outside = 1;  ///< multiple of the identity outside the span
  double scale = 1;    ///< in the units of the data, apart so that nothing overflows
};

struct Space {
  std::vector<Index> source_rows, target_rows;  ///< points of positive weight
  Vector p, q;                                  ///< their weights
  Metric frame;                                 ///< origin, length and basis; no factor yet
  Matrix x, z;                                  ///< their coordinates, m x r and n x r
  SpanMatrix reference;                         ///< the prior D, or the fixed metric
  Matrix first_moment;                          ///< C of p q'; empty when the metric is fixed
  bool spans_origin = false;                    ///< as W needs it

  Index dimension() const { return frame.dimension(); }
  Index rank() const { return frame.rank(); }
};

/// `source` and `target` are preprocessed and valid. O((m + n) d min(m + n, d)).
Space make_space(const Problem& problem, const Matrix& source, const Matrix& target,
                 const Options& options);

/// For several priors and fixed metrics in turn, all but those that are given as a matrix: what
/// serves W serves the identity too. The reference is still the identity.
Space make_shared_space(const Problem& problem, const Matrix& source, const Matrix& target);

/// The prior or the fixed metric of the options, over the points of the space. O(r^3).
void set_reference(Space& space, const Problem& problem, const Options& options);

}  // namespace remblai
