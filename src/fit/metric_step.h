// The metric step: A = C^-1 #_t D in closed form, from one symmetric eigen-decomposition.
// With D = L L' and M = L'CL = Q diag(mu) Q':  A = L M^(t-1) L' = F'F,  F = diag(mu)^((t-1)/2)
// Q'L'.
#pragma once

#include "fit/space.h"

namespace remblai {

/// A learned metric in the coordinates of a Space, without the scales of data and prior.
struct LearnedMetric {
  Matrix factor;          ///< F, r x r
  double outside = 1;     ///< of A
  Vector mu;              ///< eigenvalues of M, ascending
  Matrix vectors;         ///< Q
  double prior_term = 0;  ///< <A^-1, D>, over all d dimensions
  double trace = 0;       ///< of A, over all d dimensions
  bool ok = false;        ///< false: C is singular to working precision
};

class MetricStep {
 public:
  /// `ridge` is added to C, in the coordinates of the space.
  MetricStep(const Space& space, double ridge, double geodesic);

  /// O(r^3). `moment` is C without the ridge.
  LearnedMetric operator()(const Matrix& moment) const;

  /// |A C A - D|_F / |D|_F for a moment C (without the ridge); NaN unless t = 1/2, where it is not
  /// zero. O(r^3).
  double residual(const LearnedMetric& a, const Matrix& moment) const;

  /// Condition number of A, over all d dimensions. O(r^3) unless the prior is I.
  double condition(const LearnedMetric& a) const;

  /// Affine-invariant distance |log(A^-1/2 B A^-1/2)|_F between two results of this step; the prior
  /// cancels. O(r^3).
  double distance(const LearnedMetric& a, const LearnedMetric& b) const;

 private:
  Matrix with_ridge(const Matrix& moment) const;

  const SpanMatrix& prior_;
  double ridge_, t_;
  Index rank_;
  double missing_;     // d - r
  double prior_norm_;  // |D|_F over all d dimensions
};

}  // namespace remblai
