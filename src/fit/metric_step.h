// The metric step: A = (C + E)^-1 #_t D in closed form, from one symmetric eigen-decomposition.
// With D = L L' and M = L'(C + E)L = Q diag(mu) Q':
//   A = L M^(t-1) L' = F'F,  F = diag(mu)^((t-1)/2) Q'L'.
// Where products are far cheaper, F = M^(-1/4) L' for t = 1/2, from products alone.
#pragma once

#include "fit/span_matrix.h"

namespace remblai {

/// A learned metric in the coordinates of a Space, without the scales of data and prior.
struct LearnedMetric {
  Matrix factor;          ///< F, r x r
  double weight = 1;      ///< t of that factor
  double outside = 1;     ///< of A
  Vector mu;              ///< eigenvalues of M, ascending; empty where it is from products
  Matrix vectors;         ///< Q, or M^(-1/4) where it is from products
  Matrix moment;          ///< M, its lower triangle; only where it is from products
  double prior_term = 0;  ///< <A^-1, D>, over all d dimensions
  double ridge_term = 0;  ///< <A, E>, over all d dimensions
  bool ok = false;        ///< false: C + E is singular to working precision
};

/// The matrix E that is added to every second moment, in the coordinates of a Space.
struct Ridge {
  Matrix inside;       ///< r x r; empty: `outside` times the identity
  double outside = 0;  ///< multiple of the identity outside the span
};

class MetricStep {
 public:
  /// For points of `dimension` coordinates that span `rank` of them.
  MetricStep(Index dimension, Index rank, SpanMatrix prior, Ridge ridge, double geodesic);

  /// O(r^3). `moment` is C.
  LearnedMetric operator()(const Matrix& moment) const;

  double geodesic() const { return t_; }
  void set_geodesic(double t) { t_ = t; }

  /// The result for the same moment under the geodesic weight at hand: every row of the factor is
  /// multiplied by `scale` of its eigenvalue. O(r^2), and an eigen-decomposition where the result
  /// is from products.
  LearnedMetric weighed(LearnedMetric a) const;

  /// mu^((to - from)/2): what another weight multiplies embedded points by, column by column.
  static Vector scale(const LearnedMetric& a, double from, double to);

  /// |A (C + E) A - D|_F / |D|_F for a moment C; NaN unless t = 1/2, where it is not zero. O(r^3).
  double residual(const LearnedMetric& a, const Matrix& moment) const;

  /// Condition number of A, over all d dimensions. O(r^3) unless the prior is I.
  double condition(const LearnedMetric& a) const;

  /// Affine-invariant distance |log(A^-1/2 B A^-1/2)|_F between two results of this step; the prior
  /// cancels. O(r^3).
  double distance(const LearnedMetric& a, const LearnedMetric& b) const;

  const SpanMatrix& prior() const { return prior_; }

 private:
  Matrix with_ridge(const Matrix& moment) const;
  void decompose(const Matrix& m, LearnedMetric& a) const;
  void add_terms(LearnedMetric& a) const;
  Matrix root(const LearnedMetric& a) const;
  Matrix inverse_root(const LearnedMetric& a) const;

  SpanMatrix prior_;
  Ridge ridge_;
  double t_;
  Index rank_;
  double missing_;     // d - r
  double prior_norm_;  // |D|_F over all d dimensions
  double least_ = 0;   // no eigenvalue of M is smaller; 0 where that is not known
};

}  // namespace remblai
