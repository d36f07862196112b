// std::shuffle and std::uniform_int_distribution differ between standard libraries; these do not.
#include "draw.h"

#include <fmt/format.h>

#include <utility>

#include "remblai/error.h"

namespace remblai::experiments {

Draw::Draw(std::initializer_list<std::uint32_t> seeds) {
  std::seed_seq sequence(seeds);
  engine_.seed(sequence);
}

// Values beyond the last multiple of the bound are drawn again, so that none is favoured.
std::uint64_t Draw::below(std::uint64_t bound) {
  const std::uint64_t limit = engine_.max() - engine_.max() % bound;
  std::uint64_t value = engine_();
  while (value >= limit) value = engine_();
  return value % bound;
}

std::vector<Index> Draw::choose(std::vector<Index> values, Index count, const std::string& what) {
  const Index size = static_cast<Index>(values.size());
  if (count > size)
    throw Error(
        {.value = what + ":", .problem = fmt::format("{} are needed, there are {}", count, size)});
  for (Index i = 0; i < count; ++i) {
    const Index j = i + static_cast<Index>(below(static_cast<std::uint64_t>(size - i)));
    std::swap(values[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(j)]);
  }
  values.resize(static_cast<std::size_t>(count));
  return values;
}

}  // namespace remblai::experiments
