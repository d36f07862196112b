// The ground metric: a symmetric positive definite matrix A (d x d), kept as a factor in the span
// of the data.
#pragma once

#include "remblai/api.h"
#include "remblai/types.h"

namespace remblai {

/// Coordinates in the span of the data. Points are measured from `origin` in multiples of `length`,
/// so that the arithmetic never leaves the range of double for data between 1e-100 and 1e100. The
/// points of the two domains of a fit differ only inside the span of the basis V.
struct REMBLAI_API Frame {
  Vector origin;      ///< d
  double length = 1;  ///< a power of two near the largest coordinate
  Matrix basis;       ///< V, d x r, orthonormal; empty: r = d and V = I

  Index dimension() const { return origin.size(); }
  Index rank() const { return basis.size() ? basis.cols() : dimension(); }

  /// V'(x - origin)/length for each row x, from n x d to n x r. Throws Error when the points do not
  /// have d columns.
  Matrix coordinates(const Matrix& points) const;

  /// length V y for each row y: displacements in these coordinates as those of points, n x d.
  Matrix displacements(const Matrix& coordinates) const;
};

/// A = unit / length^2 (V F'F V' + outside (I - V V')).
struct REMBLAI_API Metric {
  Frame frame;
  Matrix factor;       ///< F, r x r; empty: F = I
  double unit = 1;     ///< squared distance = unit |F V'(x - y)/length|^2 inside the span
  double outside = 1;  ///< the multiple of I outside the span

  Index dimension() const { return frame.dimension(); }
  Index rank() const { return frame.rank(); }

  /// F V'(x - origin)/length for each row x. The squared Euclidean distance of two rows is
  /// cost/unit, up to the part outside the span, which all points of the two domains share.
  Matrix embed(const Matrix& points) const;

  /// |a_i - b_j|_A for all rows of a and b, with the part outside the span. Differences are formed
  /// before they are squared, so near points keep their distance. O(d) for each pair.
  Matrix distances(const Matrix& a, const Matrix& b) const;

  /// A itself, d x d. No other function forms a matrix of that size.
  Matrix matrix() const;
};

}  // namespace remblai
