// Symmetric positive definite (SPD) matrices: functions, geometric mean, affine-invariant geometry.
// Every function costs O(d^3), returns matrices that are symmetric to the last bit, and throws
// Error on input that is not SPD and on overflow.
#pragma once

#include <string_view>
#include <vector>

#include "remblai/api.h"
#include "remblai/types.h"

namespace remblai::spd {

/// Throws Error unless `a` is square, finite, symmetric (to 1e-8 of its largest entry) and positive
/// definite to working precision. `name` opens the message, which gives the smallest eigenvalue and
/// says how to mend it. Every function below asks the same of its arguments, except for exp.
REMBLAI_API void require(const Matrix& a, std::string_view name);

REMBLAI_API Matrix sqrt(const Matrix& a);
REMBLAI_API Matrix inverse_sqrt(const Matrix& a);
REMBLAI_API Matrix power(const Matrix& a, double exponent);
REMBLAI_API Matrix log(const Matrix& a);  ///< symmetric
REMBLAI_API Matrix exp(const Matrix& s);  ///< of any symmetric matrix; SPD to rounding
REMBLAI_API Matrix inverse(const Matrix& a);

/// A #_t B = A^1/2 (A^-1/2 B A^-1/2)^t A^1/2, the point at t of the geodesic from A (t = 0) to
/// B (t = 1). It is made from Cholesky factors and one SVD, so that condition numbers are not
/// squared.
REMBLAI_API Matrix geometric_mean(const Matrix& a, const Matrix& b, double t = 0.5);

/// The same point under its geometric name; t may leave [0, 1].
REMBLAI_API Matrix geodesic(const Matrix& a, const Matrix& b, double t);

/// C^-1 #_t D, without inverting C. For t = 1/2 it is the only SPD solution A of A C A = D, with
/// |A C A - D| <= 1e-13 d |A|^2 |C| up to condition numbers of 1e12.
REMBLAI_API Matrix riccati(const Matrix& c, const Matrix& d, double t = 0.5);

/// The affine-invariant distance |log(A^-1/2 B A^-1/2)|_F.
REMBLAI_API double distance(const Matrix& a, const Matrix& b);

/// The Karcher mean: the matrix with the smallest sum of squared distances to those given. It is
/// found by Riemannian gradient descent from exp of the mean logarithm. The descent ends when the
/// gradient (the mean logarithm at the point) is below `tolerance` times the root mean square
/// distance (or 1, if larger), when no step improves on it, or when `max_iterations` are spent. The
/// best point found is returned.
REMBLAI_API Matrix karcher_mean(const std::vector<Matrix>& matrices, double tolerance = 1e-12,
                                int max_iterations = 200);

}  // namespace remblai::spd
