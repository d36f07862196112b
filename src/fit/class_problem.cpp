// Places of labels, and sizes of classes.
#include "fit/class_problem.h"

#include <fmt/format.h>

#include "base/linalg.h"
#include "model/class_places.h"
#include "remblai/error.h"

namespace remblai {
namespace {

// (sum w)^2 / sum w^2: the number of points where all weights are equal.
double effective_size(double sum, double squares) {
  return sum * sum / squares;
}

}  // namespace

Matrix ClassProblem::class_means(const Matrix& rows) const {
  const Matrix sums = shard.sum(rows.rows(), class_count(), rows.cols(), [&](Rows some) {
    const Index count = some.end - some.begin;
    return linalg::multiply(
        members.middleRows(some.begin, count),
        p.segment(some.begin, count).asDiagonal() * rows.middleRows(some.begin, count),
        linalg::Op::transpose);
  });
  return shares.cwiseInverse().asDiagonal() * sums;
}

ClassProblem make_class_problem(const Space& space, const Labels& source_labels,
                                const Labels& known_labels) {
  space.shard.agree([&] {
    if (source_labels.size() == 0 && (space.p.size() > 0 || !space.shard.divided()))
      throw Error({.field = "source-labels",
                   .problem = "the class-aware method needs a label for each source point",
                   .remedy = "give them, or the $method paper"});
  });
  // Every rank has to know the classes of all: a label and a weight for each point.
  const Vector p = space.shard.everywhere(space.p);
  const Index first = space.shard.divided() ? space.shard.first() : 0;
  const Vector labels = source_labels(space.source_rows).cast<double>();
  const ClassPlaces found(space.shard.everywhere(labels).cast<std::int64_t>());
  ClassProblem problem;
  problem.classes = found.names;
  problem.places = {found.places.begin() + first, found.places.begin() + first + space.p.size()};
  problem.p = space.p;
  problem.q = space.q;
  problem.shard = space.shard;
  const Index k = problem.class_count();
  problem.shares = problem.counts = Vector::Zero(k);
  for (Index i = 0; i < p.size(); ++i) {
    const Index place = found.places[static_cast<std::size_t>(i)];
    problem.shares[place] += p[i];
    problem.counts[place] += p[i] * p[i];
  }
  problem.members = Matrix::Zero(space.p.size(), k);
  for (Index i = 0; i < space.p.size(); ++i)
    problem.members(i, problem.places[static_cast<std::size_t>(i)]) = 1;
  for (Index c = 0; c < k; ++c)
    problem.counts[c] = effective_size(problem.shares[c], problem.counts[c]);
  problem.source_count = effective_size(1, p.squaredNorm());
  problem.target_count = effective_size(1, space.q.squaredNorm());
  for (std::size_t j = 0; known_labels.size() > 0 && j < space.target_rows.size(); ++j) {
    const std::int64_t label = known_labels[space.target_rows[j]];
    if (label == unknown_label) continue;
    const Index place = found.place_of(label);
    if (place < 0)
      throw Error({.field = "known-labels",
                   .value = fmt::format("label {} of target point {} (counted from 1)", label,
                                        space.target_rows[j] + 1),
                   .problem = "is the label of no source point with a weight",
                   .remedy = fmt::format("give a label of the source, or {} where none is known",
                                         unknown_label)});
    problem.known.push_back(static_cast<Index>(j));
    problem.known_places.push_back(place);
  }
  return problem;
}

}  // namespace remblai
