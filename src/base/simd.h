// The inner loops of the transport step, vectorised for the processor at run time. simd.cpp is the
// only file that includes Highway. Nothing here allocates, and rows need no alignment.
#pragma once

#include "remblai/types.h"

namespace remblai::simd {

/// y_j = 2^x_j. The relative error is below 4e-16 for x in [-1000, 1000]. The result is 0 below
/// -1000 and 2^1000 above 1000.
void exp2(const double* x, double* y, Index n);

/// The loops over rows of the kernel, for entries of type T, which is double or float. Exponents
/// are computed and sums are returned in double whatever T is. Sums over a row of floats are made
/// in stretches, which are added in double.
template <class T>
struct Loops {
  /// max_j (v_j - s c_j). It is -infinity for n = 0.
  double (*shifted_max)(const T* c, const double* v, double s, Index n);

  /// k_j = 2^(v_j - s c_j + shift). Returns the sum of k. Double has the contract of exp2. In float
  /// the relative error is below 2e-7 for exponents in [-80, 125], and the power is 0 below -80 and
  /// 2^125 above 125. k may be c.
  double (*exp2_row)(const T* c, const double* v, double s, double shift, T* k, Index n);

  /// sum_j a_j b_j.
  double (*dot)(const T* a, const T* b, Index n);

  /// out_i = sum_j k_ij b_j for the four rows that start at k, k + stride and so on.
  void (*dot_rows4)(const T* k, Index stride, const T* b, Index n, double* out);

  /// t_j += sum_i a_i k_ij for the same four rows.
  void (*add_rows4)(const T* k, Index stride, const T* a, T* t, Index n);

  /// t_j += a k_j.
  void (*add_row)(const T* k, T a, T* t, Index n);

  /// t_j += a k_j^2.
  void (*add_squares)(const T* k, T a, T* t, Index n);

  /// y_j = a k_j b_j in float, and 0 where that is below 1e-15. Products of two entries that are
  /// left are then no subnormal numbers, which are slow.
  void (*round_row)(const T* k, double a, const double* b, float* y, Index n);
};

/// The loops for this processor.
template <class T>
const Loops<T>& loops();

}  // namespace remblai::simd
