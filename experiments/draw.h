// Random draws of an experiment: the same on every platform for the same seeds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "remblai/types.h"

namespace remblai::experiments {

class Draw {
 public:
  /// Any list of numbers makes a stream of its own.
  explicit Draw(std::initializer_list<std::uint32_t> seeds);

  /// `count` of the values, each as likely, in random order. Throws Error when there are fewer;
  /// `what` says in plural what they are.
  std::vector<Index> choose(std::vector<Index> values, Index count, const std::string& what);

 private:
  std::uint64_t below(std::uint64_t bound);

  std::mt19937_64 engine_;
};

}  // namespace remblai::experiments
