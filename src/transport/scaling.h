// A plan in scaled form, diag(a) K diag(b), whose rows meet their marginal. Iterations move only a
// and b, at the speed of matrix-vector products; when these leave a safe range they are absorbed
// into the potentials of K, which is then made anew, so that no lambda overflows or underflows.
#pragma once

#include "transport/kernel.h"

namespace remblai {

class Scaling {
 public:
  /// References must outlive it.
  Scaling(Kernel& kernel, const Marginal& rows, const Marginal& columns);

  /// K for this lambda and the potentials g of the columns, in units of the cost; rows are met.
  void start(double lambda, const Vector& g);

  /// The L1 error of the columns; the rows are met to rounding.
  double error() const;

  /// One Sinkhorn iteration in one pass: meets the columns, then the rows again. With `more`, which
  /// says that others will follow, the next may be under way already.
  void sinkhorn(bool more = false);

  /// ln b moves by `change`, and the rows are met again. Returns what the dual gained, in units of
  /// lambda.
  double move(const Vector& change);

  /// Where a and b stand, to come back to after a move that did not pay.
  struct Point {
    Vector u, v, a, b, sums;
  };
  Point point() const;
  void restore(Point point);

  /// Absorbs a and b into K when their range asks for it.
  void keep_in_range();

  /// The potentials of the columns, base 2 and in units of lambda.
  Vector columns() const;
  Vector next_columns() const;  ///< those that a Sinkhorn iteration would give them
  void set_columns(const Vector& potentials);

  Vector f() const;  ///< potentials of the rows, in units of the cost
  Vector g() const;  ///< those of the columns

  /// The value of the dual for met rows, in units of lambda and up to a constant.
  double dual() const;

  double lambda() const { return lambda_; }
  Index column_count() const { return columns_.size(); }
  const Vector& a() const;
  bool finite() const;  ///< all of a
  const Vector& b() const;
  Vector column_sums() const;  ///< of the plan
  Vector wanted_columns() const;
  Vector wanted_rows() const;

 private:
  void come_home() const;
  Vector next_factors() const;
  double pass();
  double balance();
  bool rows_out_of_reach() const;
  void rebuild();
  bool rescue_columns(bool first);

  Kernel& kernel_;
  const Marginal& rows_;
  const Marginal& columns_;
  double lambda_ = 0;
  Vector u_, v_;  // potentials in K, base 2 and in units of lambda
  // Where iterations are under way, these vectors are theirs until `come_home`.
  mutable std::unique_ptr<Iterations> away_;
  Iterations::Seen seen_;  // of the last of them
  mutable Vector a_, b_;
  mutable Vector sums_;  // K' a
};

}  // namespace remblai
