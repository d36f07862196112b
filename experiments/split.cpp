// Selections of rows.
#include "split.h"

#include <fmt/format.h>

#include <bit>

namespace remblai::experiments {

Domain rows_of(const Domain& domain, const std::vector<Index>& rows) {
  return {domain.points(rows, Eigen::all), domain.labels(rows), {}};
}

std::map<std::int64_t, std::vector<Index>> rows_by_class(const Domain& domain) {
  std::map<std::int64_t, std::vector<Index>> rows;
  for (Index i = 0; i < domain.size(); ++i) rows[domain.labels[i]].push_back(i);
  return rows;
}

// FNV-1a over words of eight bytes.
std::string fingerprint(const std::vector<const Domain*>& domains) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](const auto* values, Index count) {
    for (Index i = 0; i < count; ++i)
      hash = (hash ^ std::bit_cast<std::uint64_t>(values[i])) * 0x100000001b3;
  };
  for (const Domain* domain : domains) {
    const Index shape[]{domain->points.rows(), domain->points.cols()};
    add(shape, 2);
    add(domain->points.data(), domain->points.size());
    add(domain->labels.data(), domain->labels.size());
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace remblai::experiments
