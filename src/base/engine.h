// Dense linear algebra of a thread somewhere else than on the processor. linalg.cpp asks; a GPU
// answers (src/transport/cuda/engine_cuda.h).
#pragma once

#include <functional>
#include <memory>

#include "remblai/types.h"

namespace remblai::linalg {

/// A matrix as it stands in memory, row by row without gaps, or the transpose of it.
struct Operand {
  const double* data = nullptr;
  Index rows = 0, columns = 0;  ///< in memory
  bool transposed = false;
};

/// A regression with the kernel k(u, v) = exp(-|u - v|^2 / width), as KernelRidge of src/fit says.
struct RidgeTask {
  const Matrix& points;
  const Matrix& landmarks;  ///< stand for all points; without rows the system is exact
  double width = 0, smoothing = 0;
  double jitter = 0;  ///< on the diagonal of the landmarks' own kernel
  const Matrix& targets;
  const Vector& weights;
  Index judged = 0;                      ///< of the last points
  const std::function<bool()>& goes_on;  ///< asked now and then; false: leave it. May be empty
};

/// f(u) = sum_j k(u, point_j) coefficients_j, which minimises
///   sum_i w_i |T_i - f(u_i)|^2 + smoothing |f|^2  in the space of the kernel.
struct RidgeFit {
  Matrix coefficients;  ///< one row for each point, or for each landmark
  Matrix left_out;      ///< for each judged row, f(u_i) of the fit without it
  double missed = 0;    ///< share of the kernel's diagonal that landmarks miss; 0 when exact
};

/// What is worth its way there and back. An engine belongs to one thread at a time, and the same
/// input gives the same bits, whatever other engines do meanwhile. A device that was asked for and
/// fails throws Error. One that was not says false, and nothing is worth its way there any more.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Whether so many multiplications are made sooner there, with so many numbers on the way.
  virtual bool worth(double multiplications, double numbers) const = 0;

  /// C = alpha op(A) op(B). Of a matrix and its own transpose C is symmetric to the last bit; so is
  /// the sum below where A and B are the same.
  virtual bool multiply(const Operand& a, const Operand& b, double alpha, double* c) = 0;

  // A sum of products A'B that are added one after another, and fetched once. A and B may be the
  // same.
  virtual void start_sum(Index rows, Index columns) = 0;
  virtual void add_to_sum(const Operand& a, const Operand& b) = 0;
  virtual bool fetch_sum(double* c) = 0;  ///< false also where an earlier part failed

  /// M^(-1/4) for a symmetric M of which the lower triangle is read, with eigenvalues of `least` or
  /// more, and the trace of M^(1/2). False also where M is not such a matrix.
  virtual bool inverse_fourth_root(Index order, const double* m, double least, double* root,
                                   double& trace) = 0;

  /// False also where a matrix is singular to working precision, or it was left.
  virtual bool ridge(const RidgeTask& task, RidgeFit& fit) = 0;
};

/// While it lives, this thread has the engine, unless it has one already. It may be null: then
/// nothing changes. Scopes end in the reverse order.
class OnEngine {
 public:
  explicit OnEngine(std::shared_ptr<Engine> engine);
  ~OnEngine();
  OnEngine(const OnEngine&) = delete;
  OnEngine& operator=(const OnEngine&) = delete;

 private:
  std::shared_ptr<Engine> engine_;
};

/// While it lives, this thread has no engine: pieces that several threads may share are made by the
/// processor, whoever takes them.
class OffEngine {
 public:
  OffEngine();
  ~OffEngine();
  OffEngine(const OffEngine&) = delete;
  OffEngine& operator=(const OffEngine&) = delete;

 private:
  Engine* before_;
};

/// The engine of this thread; null where it has none.
Engine* current_engine();

/// M^(-1/4) and the trace of M^(1/2), as Engine::inverse_fourth_root says. Not `ok` where the
/// engine of this thread does not make it; `eigh` then serves.
struct FourthRoot {
  Matrix inverse;
  double trace_of_root = 0;
  bool ok = false;
};
FourthRoot inverse_fourth_root(const Matrix& m, double least);

}  // namespace remblai::linalg
