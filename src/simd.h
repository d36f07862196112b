// The inner loops of the transport engine, vectorised for the processor at run time.
// simd.cpp is the only file that includes Highway. Nothing here allocates; rows need no alignment.
#pragma once

#include "remblai/types.h"

namespace remblai::simd {

/// y_j = 2^x_j, relative error below 4e-16 for x in [-1000, 1000]; 0 below -1000, 2^1000 above
/// 1000.
void exp2(const double* x, double* y, Index n);

/// max_j (v_j - s c_j), -infinity for n = 0.
double shifted_max(const double* c, const double* v, double s, Index n);

/// k_j = 2^(v_j - s c_j + shift), with exp2's contract. Returns the sum of k.
double exp2_row(const double* c, const double* v, double s, double shift, double* k, Index n);

double dot(const double* a, const double* b, Index n);

/// sum_j k_j^2 w_j.
double dot_squares(const double* k, const double* w, Index n);

/// out_i = sum_j k_ij b_j for the four rows that start at k, k + stride, ...
void dot_rows4(const double* k, Index stride, const double* b, Index n, double out[4]);

/// t_j += sum_i a_i k_ij for the same four rows.
void add_rows4(const double* k, Index stride, const double a[4], double* t, Index n);

/// t_j += a k_j.
void add_row(const double* k, double a, double* t, Index n);

}  // namespace remblai::simd
