// Vectors that stay on the GPU while conjugate gradients run, and the few things done with them.
#pragma once

#include "transport/cuda/tile.h"

namespace remblai::cuda {

/// The vectors of conjugate gradients for H x = a right side, each of `size` numbers, with
/// H = diag(diagonal) - diag(right) S diag(right) for a symmetric S whose products come from
/// elsewhere.
struct GradientRoom {
  std::int64_t size = 0;
  const double* diagonal = nullptr;
  const double* right = nullptr;
  const double* jacobi = nullptr;  ///< the diagonal preconditioner
  double* x = nullptr;
  double* residual = nullptr;
  double* z = nullptr;          ///< the residual, preconditioned
  double* direction = nullptr;  ///< d
  double* scaled = nullptr;     ///< right times d: S is to be multiplied with it
  double* product = nullptr;    ///< S times that, and then H d
  double* numbers = nullptr;    ///< two: residual . z, and whether there is nothing left to do
  double enough = 0;            ///< |residual|_1 at which that is so
  bool clusters = false;        ///< the GPU knows clusters of blocks
};

/// diagonal = right S right: the row sums of diag(right) S diag(right), of which `product` holds S
/// right. Then H has the null vector 1 to the rounding of doubles.
void find_diagonal(const GradientRoom& room, double* diagonal, Stream stream);

/// jacobi = max(diagonal - right^2 squares, 1e-6 diagonal), `squares` being the diagonal of S.
void find_jacobi(const GradientRoom& room, const double* squares, double* jacobi, Stream stream);

/// z and d from the residual, and `scaled`. Tells 0, |residual|_1 and the number of this call.
void begin_gradients(const GradientRoom& room, double* told, double call, Stream stream);

/// One iteration, from the product of S on: H d and d . H d; x, residual and z, unless that is not
/// positive; then tells d . H d, |residual|_1 and the number of this call; then d and `scaled` for
/// the next. Nothing changes and nothing is told where there was nothing left to do.
void step_gradients(const GradientRoom& room, double* told, double call, Stream stream);

/// The vectors of a Sinkhorn iteration between two exact sides.
struct IterationRoom {
  std::int64_t rows = 0, columns = 0;
  const double* row_weights = nullptr;
  const double* column_weights = nullptr;
  const double* a = nullptr;
  double* b = nullptr;
  const double* sums = nullptr;  ///< K' a
  double safe = 1;               ///< b and a / weights belong between 1/safe and this
  bool clusters = false;
};

/// b = weights / sums.
void meet_columns(const IterationRoom& room, Stream stream);

/// Tells the error of the columns, how many factors are out of range, and the number of this call.
void judge(const IterationRoom& room, double* told, double call, Stream stream);

/// Numbers in the processor's memory that a call tells: two values, then the number of the call.
constexpr int told_numbers = 4;

}  // namespace remblai::cuda
