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
  return shares.cwiseInverse().asDiagonal() *
         linalg::multiply(members, p.asDiagonal() * rows, linalg::Op::transpose);
}

ClassProblem make_class_problem(const Space& space, const Labels& source_labels,
                                const Labels& known_labels) {
  if (source_labels.size() == 0)
    throw Error({.field = "source-labels",
                 .problem = "the class-aware method needs a label for each source point",
                 .remedy = "give them, or the $method paper"});
  const ClassPlaces found(source_labels(space.source_rows));
  ClassProblem problem;
  problem.classes = found.names;
  problem.places = found.places;
  problem.p = space.p;
  problem.q = space.q;
  const Index k = problem.class_count();
  problem.members = Matrix::Zero(space.p.size(), k);
  problem.shares = problem.counts = Vector::Zero(k);
  for (Index i = 0; i < space.p.size(); ++i) {
    const Index place = problem.places[static_cast<std::size_t>(i)];
    problem.members(i, place) = 1;
    problem.shares[place] += space.p[i];
    problem.counts[place] += space.p[i] * space.p[i];
  }
  for (Index c = 0; c < k; ++c)
    problem.counts[c] = effective_size(problem.shares[c], problem.counts[c]);
  problem.source_count = effective_size(1, space.p.squaredNorm());
  problem.target_count = effective_size(1, space.q.squaredNorm());
  for (std::size_t j = 0; known_labels.size() > 0 && j < space.target_rows.size(); ++j) {
    const std::int64_t label = known_labels[space.target_rows[j]];
    if (label == unknown_label) continue;
    const Index place = found.place_of(label);
    if (place < 0)
      throw Error({.field = "known-labels",
                   .value = fmt::format("label {} of target point {} (counted from 1)", label,
                                        space.target_rows[j] + 1),
                   .problem = "is not a label of the source",
                   .remedy = fmt::format("give a label of the source, or {} where none is known",
                                         unknown_label)});
    problem.known.push_back(static_cast<Index>(j));
    problem.known_places.push_back(place);
  }
  return problem;
}

}  // namespace remblai
