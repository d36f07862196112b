// Samples of the pairs that follow no order of the rows.
#include "fit/distance_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "transport/ground_cost.h"

namespace remblai {
namespace {

// Multiples of the golden ratio spread over the rows evenly, and in step with no order that the
// rows may have.
Matrix some_rows(const Matrix& points, const Shard& shard) {
  static constexpr Index most = 256;
  const Index total = shard.total(points.rows());
  std::vector<Index> numbers;
  for (Index i = 0; i < std::min(most, total); ++i) {
    const double place = static_cast<double>(i) * std::numbers::phi;
    const double share = place - std::floor(place);
    numbers.push_back(total <= most ? i : static_cast<Index>(share * static_cast<double>(total)));
  }
  return shard.rows_of(points, numbers);
}

}  // namespace

void DistanceWatch::look(const Matrix& x, const Matrix& z, const Shard& shard,
                         const Shard& targets) {
  const Matrix from = some_rows(x, shard);
  now_ = GroundCost::between_points(from, some_rows(z, targets)).block(0, from.rows()).cwiseMax(0);
  change_ = std::numeric_limits<double>::infinity();
  if (before_.rows() != now_.rows() || before_.cols() != now_.cols()) return;  // none to compare
  const double floor = 1e-6 * before_.mean();
  change_ = floor > 0
                ? std::sqrt(((now_ - before_).array() / before_.array().max(floor)).square().mean())
                : 0;
  change_ = shard.maximum(change_);  // processors of other kinds may round it otherwise
}

void DistanceWatch::accept() {
  before_ = std::move(now_);
}

}  // namespace remblai
