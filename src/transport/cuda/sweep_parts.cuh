// What the kernels of a sweep share: the rule of a row, and the arguments of a call.
#pragma once

#include "transport/cuda/overlap.cuh"
#include "transport/cuda/sweep.h"

namespace remblai::cuda {

constexpr int rows_in_float = 128;  // that are added up in float before their sum goes to a double

// y_i of a row, from what the rule knows of it and the product d. In float it is as good as the
// entries that it is multiplied with.
template <class T>
__device__ T finish_row(const RowWork& work, double weight, double shift, double d) {
  switch (work.kind) {
    case RowWork::weigh:
      return static_cast<T>(weight * d);
    case RowWork::given:
      return static_cast<T>(weight);
    case RowWork::keep:
      return 0;
    case RowWork::meet_exact:
      return static_cast<T>(weight) / static_cast<T>(d);
    case RowWork::meet_relaxed:
      return static_cast<T>(
          exp2(fmax(-1000.0, log2(weight) - work.power * log2(d) - (1 - work.power) * shift)));
  }
  return 0;
}

inline __device__ double weight_of_row(const RowWork& work, std::int64_t i) {
  if (work.kind == RowWork::keep) return 0;
  return work.weights ? work.weights[i] : 1;
}

inline __device__ double shift_of_row(const RowWork& work, std::int64_t i) {
  return work.kind == RowWork::meet_relaxed ? work.shifts[i] : 0;
}

inline __device__ bool keeps_factors(const RowWork& work) {
  return work.kind == RowWork::meet_exact || work.kind == RowWork::meet_relaxed;
}

// The numbers that a thread takes at a time.
template <class T>
constexpr int lane = 16 / sizeof(T);

// The arguments of a sweep.
template <class T>
struct Call {
  const Tile<T>& tile;
  const double* x;
  const RowWork& work;
  const SweepRoom& room;
  double* sums;
  bool add;
  Stream stream;
};

/// Adds up the partial sums of so many groups of rows, in their order. With `rows` what the rule
/// keeps of these is made too. `narrow` sums are floats.
template <class T>
void finish(const Call<T>& call, std::int64_t groups, std::int64_t rows, bool narrow);

/// Products by one reading of the matrix, for rows that are too wide to be kept.
template <class T>
void multiply(const Call<T>& call);

/// Sums of the columns by one reading of the matrix, where the products are there.
template <class T>
void run_second_pass(const Call<T>& call);

inline unsigned grid(std::int64_t count) {
  return static_cast<unsigned>(count);
}

}  // namespace remblai::cuda
