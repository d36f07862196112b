// The plan in scaled form, diag(a) K diag(b) with K_ij = 2^(u_i + v_j - s c_ij), s =
// log2(e)/lambda. Iterations only move a and b, at the speed of matrix-vector products; when these
// leave a safe range they are absorbed into u and v and K is made anew, so no lambda overflows or
// underflows.
#pragma once

#include "remblai/transport.h"

namespace remblai {

class ScaledKernel {
 public:
  /// References must outlive the object; `storage` receives K (m x n).
  ScaledKernel(const Matrix& cost, const Vector& p, const Vector& q, int threads, Matrix& storage);

  /// K for this lambda and the potentials g of the columns, in units of the cost; then one Sinkhorn
  /// iteration (which needs no f), so the columns are exact.
  void start(double lambda, const Vector& g);

  /// One Sinkhorn iteration in one pass: a = p/(K b), then b = q/(K' a). Returns the L1 error of
  /// the row sums before it; the columns are exact afterwards.
  double sinkhorn();

  /// a = p/(K b): rows exact. The L1 error of the column sums is then at most the one of the rows
  /// before.
  void finish_rows();

  Vector times(const Vector& x) const;            ///< K x
  Vector transpose_times(const Vector& x) const;  ///< K' x
  Vector squares_times(const Vector& w) const;    ///< sum_j K_ij^2 w_j
  Matrix scaled(const Vector& left, const Vector& right) const;  ///< diag(left) K diag(right)

  /// Absorbs a and b when their range asks for it.
  void keep_in_range();

  /// The potentials of the columns, base 2 and in units of lambda: what b stands for.
  Vector columns() const;
  void set_columns(const Vector& potentials);

  /// <p, f> + <q, g>, base 2 and in units of lambda.
  double dual() const;

  /// f and g in units of the cost.
  void potentials(Vector& f, Vector& g) const;

  /// Leaves the plan P = exp((f + g - c)/lambda) in the storage, with its row sums (m) and column
  /// sums (n). Returns <P, c>.
  double measure(double lambda, const Vector& f, const Vector& g, Vector& rows, Vector& columns);

  Vector a, b;

  /// Sweeps over the matrix so far.
  const PassCounts& counts() const { return counts_; }

 private:
  void rebuild();
  void rescue_columns();
  Vector add_up(const Matrix& parts) const;

  const Matrix& cost_;
  const Vector& p_;
  const Vector& q_;
  int threads_;
  Matrix& kernel_;
  double scale_ = 0;  // s
  Vector u_, v_;      // base 2
  mutable PassCounts counts_;
};

}  // namespace remblai
