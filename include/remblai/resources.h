// Where and how a computation runs. None of it changes what is computed, but for the rounding of
// float.
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>

#include "remblai/api.h"

namespace remblai {

class Comm;

enum class Precision { float64, float32 };
constexpr std::array<std::string_view, 2> names(Precision) {
  return {"double", "float"};
}

/// automatic: the first GPU where there is one and the problem is large enough to win, else the
/// processor. The others are taken or refused.
enum class Device { automatic, cpu, cuda, cuda_1, cuda_2, cuda_3, cuda_4, cuda_5, cuda_6, cuda_7 };
constexpr std::array<std::string_view, 10> names(Device) {
  return {"auto",   "cpu",    "cuda",   "cuda:1", "cuda:2",
          "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"};
}

struct REMBLAI_API Resources {
  int threads = 0;  ///< 0 is one for each core
  double memory =
      0;  ///< GiB for matrices of all pairs; 0 is half of what is free at the start, 0.9 on a GPU
  /// float32 halves memory and time of a pass. Costs are then rounded to 1e-7 of the largest, and
  /// marginals can be met to about 1e-6, not better.
  Precision precision = Precision::float64;
  Device device = Device::automatic;  ///< where plans and large matrix products are made
  /// The processes that work on the problem together (remblai/comm.h), each with some rows of the
  /// source; null: this one alone. It is no option of the command line, where mpirun says it.
  std::shared_ptr<const Comm> comm = {};

  double memory_bytes() const { return memory * 0x1p30; }

  /// Throws Error naming the option, its value and the range.
  void validate() const;
};

/// Calls visit(name, field, help) for every field, as for_each_option of Options does.
template <class ResourcesType, class Visitor>
requires std::same_as<std::remove_const_t<ResourcesType>, Resources>
void for_each_option(ResourcesType& r, Visitor&& visit) {
  visit("precision", r.precision,
        "of the matrices of all pairs; potentials and totals are double in either");
  visit("device", r.device,
        "where plans and large matrix products are made; auto: a GPU where there is one and the "
        "problem is large enough");
  visit("threads", r.threads, "threads; 0 is one for each core");
  visit(
      "memory", r.memory,
      "GiB for matrices of all pairs, which are made block by block when they do not fit, and for "
      "kernel systems of the class-aware method, which then have fewer landmarks; 0 is half of "
      "the free memory, nine tenths on a GPU");
}

}  // namespace remblai
