// Kernel ridge regression with Gaussian kernels of several widths, and its leave-one-out residuals
// in closed form.
#pragma once

#include <functional>
#include <vector>

#include "base/common_rows.h"
#include "base/engine.h"
#include "remblai/types.h"

namespace remblai {

/// Rows of the kernel between points and landmarks that are there at a time.
inline constexpr Index rows_at_a_time = 2048;

/// The bytes that an exact system takes: four matrices of all its points.
inline double exact_bytes(double points) {
  return 4 * 8 * points * points;
}

/// The bytes that a system of so many landmarks takes: eight matrices of them, and three blocks of
/// the kernel between them and some points.
double landmark_bytes(double landmarks, double points = rows_at_a_time);

/// The landmarks for systems of so many points: those that are wanted, where these systems fit the
/// bytes, and else as many as do, but no fewer than 10.
int landmarks_within(double bytes, int wanted, double points);

/// Is asked now and then during long work; false: leave the rest, and answer with what there is.
/// May be empty. Where there are ranks all are asked together, and hear the same.
using Pulse = std::function<bool()>;

/// Its coefficients have one row for each of KernelRidge::support().
using KernelFit = linalg::RidgeFit;

/// The systems of one set of points. Up to `landmarks` points they are solved exactly, by a
/// Cholesky factorisation: O(n^3 / 3) for each fit. Beyond, so many of the points, drawn evenly,
/// stand for all (Nystrom): f is then a sum over these alone, in O(n landmarks^2) time and
/// O(landmarks^2) memory. Where rows are divided among ranks, exact systems are solved by each of
/// them, which costs as much as in one process, and what landmarks need of the points is summed up.
class KernelRidge {
 public:
  /// `points` must outlive it. `distances` are the squared ones among them, the upper triangle,
  /// where these are at hand.
  KernelRidge(const Matrix& points, Index landmarks, Matrix distances = {}, CommonRows rows = {});

  /// The points that f is a sum over.
  const Matrix& support() const { return support_.size() ? support_ : points_; }

  /// The kernel exp(-|u - v|^2 / width). Half of the last width costs no exponentials.
  void set_width(double width) { width_ = width; }

  /// Weights positive, `smoothing` positive. The last `judged` rows are left out one by one. There
  /// are no coefficients where the pulse stops it.
  KernelFit fit(const Matrix& targets, const Vector& weights, double smoothing, Index judged,
                const Pulse& pulse = {});

 private:
  bool fit_on_engine(const Matrix& targets, const Vector& weights, double smoothing, Index judged,
                     const Pulse& pulse, KernelFit& fit) const;
  void make_kernel();
  KernelFit exact_fit(const Matrix& targets, const Vector& weights, double smoothing, Index judged);
  KernelFit landmark_fit(const Matrix& targets, const Vector& weights, double smoothing,
                         Index judged, const Pulse& pulse) const;

  Matrix landmark_kernel(Rows rows) const;

  const Matrix& points_;
  CommonRows rows_;
  bool exact_ = false;         // no landmarks
  Matrix support_;             // landmarks, or the points of all ranks; empty: all points are here
  Matrix distances_, kernel_;  // among all points, upper triangles, when they are needed
  double width_ = 0, kernel_width_ = 0;
};

/// `count` of the numbers below `size`, spread evenly over a fixed random order, ascending.
std::vector<Index> even_sample(Index size, Index count);

}  // namespace remblai
