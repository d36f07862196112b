// Checks of the points, labels and weights that the caller brings, and the normalisation of
// weights.
#include "remblai/domain.h"

#include <fmt/format.h>

#include <cmath>

#include "base/linalg.h"
#include "remblai/error.h"

namespace remblai {

void require_finite(const MatrixView& values, std::string_view name) {
  if (linalg::all_finite(values)) return;
  for (Index i = 0; i < values.rows(); ++i)
    for (Index j = 0; j < values.cols(); ++j)
      if (!std::isfinite(values(i, j)))
        throw Error({.field = std::string(name),
                     .value = fmt::format("row {}, column {} (counted from 1)", i + 1, j + 1),
                     .problem = fmt::format("is {}", values(i, j)),
                     .remedy = "every value must be a finite number: remove or fill in such points "
                               "first"});
}

void Domain::validate(std::string_view name, bool some) const {
  if ((size() == 0 && !some) || dimension() == 0)
    throw Error({.field = std::string(name),
                 .value = fmt::format("{} points of dimension {}", size(), dimension()),
                 .remedy = "at least one point with one coordinate is needed"});
  require_finite(points, fmt::format("{} points", name));
  if (labelled() && labels.size() != size())
    throw Error({.field = fmt::format("{} labels", name),
                 .value = fmt::format("{} labels", labels.size()),
                 .problem = fmt::format("for {} points", size()),
                 .remedy = "give one label a point"});
  constexpr std::int64_t most = std::int64_t{1} << 53;
  for (Index i = 0; i < labels.size(); ++i)
    if (labels[i] > most || labels[i] < -most)
      throw Error({.field = fmt::format("{} labels", name),
                   .value = fmt::format("label {} (counted from 1)", i + 1),
                   .problem = fmt::format("is {}", labels[i]),
                   .remedy = "labels lie between -2^53 and 2^53"});
  if (weights.size() == 0) return;
  if (weights.size() != size())
    throw Error({.field = fmt::format("{} weights", name),
                 .value = fmt::format("{} weights", weights.size()),
                 .problem = fmt::format("for {} points", size()),
                 .remedy = "give one weight a point"});
  for (Index i = 0; i < weights.size(); ++i)
    if (!(weights[i] >= 0 && std::isfinite(weights[i])))
      throw Error({.field = fmt::format("{} weights", name),
                   .value = fmt::format("weight {} (counted from 1)", i + 1),
                   .problem = fmt::format("is {}", weights[i]),
                   .remedy = "weights are finite and not negative"});
  if (!some && weights.maxCoeff() == 0)
    throw Error({.field = fmt::format("{} weights", name),
                 .problem = "all are zero",
                 .remedy = "at least one must be positive"});
}

std::vector<Index> positive_entries(const Vector& weights) {
  std::vector<Index> places;
  for (Index i = 0; i < weights.size(); ++i)
    if (weights[i] > 0) places.push_back(i);
  return places;
}

Vector Domain::probabilities() const {
  if (weights.size() == 0) return Vector::Constant(size(), 1.0 / static_cast<double>(size()));
  const Vector scaled = weights / weights.maxCoeff();
  return (scaled.array() < 1e-100).select(0, scaled / scaled.sum());
}

}  // namespace remblai
