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
  double* partial = nullptr;    ///< room for `gradient_partials` numbers
  double* numbers = nullptr;    ///< two results
  unsigned* ticket = nullptr;   ///< 0 between calls
};
std::int64_t gradient_partials();

/// jacobi = max(diagonal - right^2 squares, 1e-6 diagonal), `squares` being the diagonal of S.
void find_jacobi(const GradientRoom& room, const double* squares, double* jacobi, Stream stream);

/// z and d from the residual, and `scaled`. numbers = {residual . z, |residual|_1}.
void begin_gradients(const GradientRoom& room, Stream stream);

/// product = H d. numbers[0] = d . product.
void find_curvature(const GradientRoom& room, Stream stream);

/// x += length d, residual -= length product, and z. numbers as for `begin_gradients`.
void advance_gradients(const GradientRoom& room, double length, Stream stream);

/// d = z + share d, and `scaled`.
void turn_gradients(const GradientRoom& room, double share, Stream stream);

}  // namespace remblai::cuda
