// The m x n matrix of a transport problem, K_ij = 2^(u_i + v_j - s c_ij) with s = log2(e)/lambda,
// and the passes over it. A kernel knows costs and potentials; it does not know weights, scalings
// or what is done with its sums. Another device is another class behind this interface. Where the
// rows are divided among processes (Shard), a kernel has the local ones: what it returns for rows
// is local, and its sums over rows, which are all that it returns for columns, are those of all.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "remblai/resources.h"
#include "remblai/transport.h"
#include "transport/gradients.h"
#include "transport/ground_cost.h"
#include "transport/iterations.h"
#include "transport/marginal.h"

namespace remblai {

/// What a fused pass makes of the product d_i = (K x)_i of each row.
class RowRule {
 public:
  /// weights_i d_i.
  static RowRule weigh(const Vector& weights);

  /// The factor of row i that meets its marginal; `u` holds the potentials that stand in the
  /// kernel. The factors are kept in `factors`, which has m entries.
  static RowRule meet(const Marginal& marginal, double lambda, const Vector& u, Vector& factors);

  double operator()(Index i, double product) const;

  // The rule as data, for a device that applies it to all rows by itself.
  enum class Kind { weigh, meet_exact, meet_relaxed };
  Kind kind() const;
  const Vector& weights() const;  ///< of the rule or of its marginal
  double power() const { return power_; }
  const Vector* u() const { return u_; }        ///< where a marginal is to be met
  Vector* factors() const { return factors_; }  ///< the same

 private:
  const Vector* weights_ = nullptr;
  const Marginal* marginal_ = nullptr;
  double power_ = 1;
  const Vector* u_ = nullptr;
  Vector* factors_ = nullptr;
};

/// A pass was not finished, because `Kernel::watch` said no. It never leaves `find_potentials`.
struct Interrupted {};

class Kernel {
 public:
  virtual ~Kernel() = default;

  /// Takes the costs, which must live until the next call. Buffers are kept from one call to the
  /// next, so a sequence of costs of one size allocates once. Whether anything of size m x n is
  /// stored follows from the sizes and the memory that the kernel may use.
  virtual void use(const GroundCost& cost) = 0;

  /// K for this lambda and the potentials v of the columns (base 2, in units of lambda), each row
  /// shifted by u so that its largest entry is 1; u is returned. Nothing overflows at any lambda.
  /// Returns the fused pass for x = 1, which costs nothing more.
  virtual Vector rescale(double lambda, const Vector& v, Vector& u, const RowRule& rule) = 0;

  /// The sums of a plan.
  struct Sums {
    Vector rows, columns;
    double cost = 0;  ///< <K, c>
  };

  /// K becomes the plan exp((f_i + g_j - c_ij)/lambda) itself, for potentials in units of the cost.
  virtual Sums fix(double lambda, const Vector& f, const Vector& g) = 0;

  /// K' y with y_i = rule(i, (K x)_i), in one pass.
  virtual Vector fused(const Vector& x, const RowRule& rule) const = 0;

  virtual Vector times(const Vector& x) const = 0;            ///< K x
  virtual Vector transpose_times(const Vector& y) const = 0;  ///< K' y
  virtual Matrix times(const Matrix& y) const = 0;            ///< K Y

  /// The same for a Y of which each rank has some rows.
  virtual Matrix times_shares(const Matrix& y, const Shard& shares) const;

  virtual Matrix matrix() const = 0;  ///< K itself, m x n

  /// K in the memory of a GPU; without data where the kernel is elsewhere.
  virtual MatrixOnGpu matrix_on_gpu() const { return {}; }

  /// Frees what the next `use` makes anew, where that is much beside what is stored. Until then
  /// there are neither costs nor K.
  virtual void rest() {}

  /// Whether it made factors of its own of those of a factored cost, which need not be there any
  /// more after `use`.
  virtual bool has_factors() const { return false; }

  /// Whether `use` takes such costs with a share of v on each rank.
  virtual bool takes_shares(const GroundCost& /*cost*/) { return false; }

  /// sum_ij y_i c_ij x_j, with the costs themselves and not K.
  virtual double between(const Vector& y, const Vector& x) const = 0;

  /// sum_i w_i K_ij^2 for every column.
  virtual Vector squares_transpose_times(const Vector& w) const = 0;

  /// log2 sum_i 2^(rows_i - s c_ij) for one column, at the lambda of the last `rescale`.
  virtual double log2_column_sum(Index j, const Vector& rows) const = 0;

  /// Points on the target side up to which `factorise` may be asked for; 0 when K is not stored.
  virtual Index most_factored() const = 0;

  /// Keeps a Cholesky factor, in float, of
  ///   (1 + 1e-6) I + null null' - M'M,  M = diag(left) K diag(right),
  /// as a preconditioner. `null` may be empty. False when the matrix is not positive definite to
  /// working precision.
  virtual bool factorise(const Vector& left, const Vector& right, const Vector& null) = 0;

  /// The inverse of what was factorised, times y. Accurate to float.
  virtual Vector precondition(const Vector& y) const = 0;

  /// The vectors of conjugate gradients for H x = right side, from x and its residual on, where
  /// this kernel keeps vectors. `root` is as for `gradients_on_processor`, and null where nothing
  /// can be factorised. References must outlive what is returned; no pass may be made beside it.
  virtual std::unique_ptr<Gradients> gradients(const Hessian& hessian, const Vector& x,
                                               const Vector& residual, const Vector* root) const {
    return gradients_on_processor(*this, hessian, x, residual, root);
  }

  /// Sinkhorn iterations between two exact sides of these weights, from the column sums K' a on,
  /// where this kernel keeps vectors; else null. What is returned ends before any other pass.
  virtual std::unique_ptr<Iterations> iterations(const Vector& /*rows*/, const Vector& /*columns*/,
                                                 const Vector& /*sums*/) const {
    return nullptr;
  }

  /// log2 of how far scalings of rows and columns may go before `rescale` is needed again.
  virtual double safe_log2() const = 0;

  /// The L1 error of the marginals that rounding alone may cause.
  virtual double rounding() const = 0;

  /// Whether a pass may take so long that it asks `watch` on its way: where rows are made in every
  /// pass.
  virtual bool long_passes() const { return false; }

  /// What long passes ask now and then, in the thread that made the call, until the next `watch`:
  /// when it returns false they throw Interrupted, and K is undefined.
  void watch(std::function<bool()> answer) { answer_ = std::move(answer); }

  /// Sweeps over the matrix since the last reset.
  const PassCounts& counts() const { return counts_; }
  void reset_counts() { counts_ = {}; }

 protected:
  /// Whether a long pass goes on. It may ask as often as it likes, in the thread of the call.
  bool goes_on() const;

  mutable PassCounts counts_;

 private:
  std::function<bool()> answer_;
  mutable std::chrono::steady_clock::time_point last_look_;
};

/// log2 sum_i 2^(rows_i - s c_i) for one column of costs, on the processor.
double log2_column_sum(const Vector& column, double s, const Vector& rows, const Shard& shard);
inline double log2_column_sum(const GroundCost& cost, double s, Index j, const Vector& rows) {
  return log2_column_sum(cost.column(j), s, rows, cost.shard());
}

/// The kernel for these resources and m x n entries. Throws Error where a GPU is asked for that
/// there is not.
std::unique_ptr<Kernel> make_kernel(const Resources& resources, Index m, Index n);

}  // namespace remblai
