// Selections of rows.
#include "split.h"

namespace remblai::experiments {

Domain rows_of(const Domain& domain, const std::vector<Index>& rows) {
  return {domain.points(rows, Eigen::all), domain.labels(rows), {}};
}

std::map<std::int64_t, std::vector<Index>> rows_by_class(const Domain& domain) {
  std::map<std::int64_t, std::vector<Index>> rows;
  for (Index i = 0; i < domain.size(); ++i) rows[domain.labels[i]].push_back(i);
  return rows;
}

}  // namespace remblai::experiments
