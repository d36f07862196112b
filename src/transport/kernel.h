// The plan in scaled form, diag(a) K diag(b) with K_ij = 2^(u_i + v_j - s c_ij), s =
// log2(e)/lambda. Iterations only move a and b, at the speed of matrix-vector products; when these
// leave a safe range they are absorbed into u and v and K is made anew, so no lambda overflows or
// underflows. Potentials and totals are double whatever the entries of K are; in float, factors
// of a product and sums over some hundred entries are float too.
#pragma once

#include <memory>

#include "remblai/transport.h"
#include "transport/costs.h"

namespace remblai {

/// What the solver sees of K, whatever its entries are and whether they are stored.
class Kernel {
 public:
  virtual ~Kernel() = default;

  virtual bool stored() const = 0;

  /// How much ln a may change before keep_in_range is called again.
  virtual double longest_step() const = 0;

  /// Marginals may not be met better than this.
  virtual double rounding() const = 0;

  /// K for this lambda and the potentials g of the columns, in units of the cost; then one Sinkhorn
  /// iteration (which needs no f), so the columns are exact.
  virtual void start(double lambda, const Vector& g) = 0;

  /// One Sinkhorn iteration in one pass: a = p/(K b), then b = q/(K' a). Returns the L1 error of
  /// the row sums before it; the columns are exact afterwards.
  virtual double sinkhorn() = 0;

  /// a = p/(K b): rows exact. The L1 error of the column sums is then at most the one of the rows
  /// before.
  virtual void finish_rows() = 0;

  virtual Vector times(const Vector& x) const = 0;            ///< K x
  virtual Vector transpose_times(const Vector& x) const = 0;  ///< K' x
  virtual Vector squares_times(const Vector& w) const = 0;    ///< sum_j K_ij^2 w_j
  virtual Matrix times(const Matrix& y) const = 0;            ///< K Y
  /// diag(left) K diag(right)
  virtual Matrix scaled(const Vector& left, const Vector& right) const = 0;

  /// The same in float, without entries below 1e-15.
  virtual RowMatrix<float> rounded(const Vector& left, const Vector& right) const = 0;

  /// Absorbs a and b when their range asks for it.
  virtual void keep_in_range() = 0;

  /// The potentials of the columns, base 2 and in units of lambda: what b stands for.
  virtual Vector columns() const = 0;
  virtual void set_columns(const Vector& potentials) = 0;

  /// <p, f> + <q, g>, base 2 and in units of lambda.
  virtual double dual() const = 0;

  /// f and g in units of the cost.
  virtual void potentials(Vector& f, Vector& g) const = 0;

  /// K becomes the plan P = exp((f + g - c)/lambda) itself, a and b one. Returns <P, c>, and the
  /// row sums (m) and column sums (n) of P.
  virtual double measure(double lambda, const Vector& f, const Vector& g, Vector& rows,
                         Vector& columns) = 0;

  /// Sweeps over the matrix so far.
  const PassCounts& counts() const { return counts_; }

  Vector a, b;

 protected:
  mutable PassCounts counts_;
};

/// K is stored when the costs are; else its rows are made from theirs in every pass. References
/// must outlive it.
template <class T>
std::unique_ptr<Kernel> make_kernel(const Costs<T>& costs, const Vector& p, const Vector& q,
                                    int threads);

}  // namespace remblai
