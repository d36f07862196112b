// What the tests of the class-aware method share: problems with classes, and kernels written out.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "fit/class_problem.h"
#include "remblai/options.h"
#include "support.h"

namespace remblai::test {

/// exp(-|a_i - b_j|^2 / width), entry by entry.
inline Matrix plain_kernel(const Matrix& a, const Matrix& b, double width) {
  return Matrix::NullaryExpr(a.rows(), b.rows(), [&](Index i, Index j) {
    return std::exp(-(a.row(i) - b.row(j)).squaredNorm() / width);
  });
}

/// softmax of every row.
inline Matrix plain_softmax(const Matrix& scores) {
  Matrix p = scores;
  for (Index i = 0; i < p.rows(); ++i) {
    p.row(i) = (p.row(i).array() - p.row(i).maxCoeff()).exp();
    p.row(i) /= p.row(i).sum();
  }
  return p;
}

/// The place of each label among the ascending classes.
inline std::vector<Index> places_in(const Labels& classes, const Labels& labels) {
  std::vector<Index> places;
  for (const std::int64_t label : labels)
    places.push_back(std::lower_bound(classes.begin(), classes.end(), label) - classes.begin());
  return places;
}

/// One row for each place: 1 there and 0 elsewhere.
inline Matrix one_hot(const std::vector<Index>& places, Index classes) {
  Matrix rows = Matrix::Zero(static_cast<Index>(places.size()), classes);
  for (std::size_t i = 0; i < places.size(); ++i) rows(static_cast<Index>(i), places[i]) = 1;
  return rows;
}

/// Normal classes of deviation 1 around the same random centres in both domains, which are `apart`
/// times as far from each other as the points of a class. Labels are 2, 5, 8 and so on; source
/// point i is of class i mod K. Of the target points two thirds are of the first class and the rest
/// of the others in turn, and all of them are moved by `shift` in every coordinate.
inline Problem class_problem(Index classes, Index m, Index n, Index d, unsigned seed = 1,
                             double apart = 4, double shift = 0.5) {
  const Matrix centres = apart * random_matrix(classes, d, 1000 + seed);
  const auto draw = [&](Index size, unsigned draw_seed, const auto& class_of) {
    Domain domain;
    domain.points = random_matrix(size, d, draw_seed);
    domain.labels.resize(size);
    for (Index i = 0; i < size; ++i) {
      domain.points.row(i) += centres.row(class_of(i));
      domain.labels[i] = 3 * class_of(i) + 2;
    }
    return domain;
  };
  Problem problem;
  problem.source = draw(m, 2 * seed, [=](Index i) { return i % classes; });
  problem.target =
      draw(n, 2 * seed + 1, [=](Index j) { return j % 3 ? Index{0} : (j / 3) % classes; });
  problem.target.points.array() += shift;
  return problem;
}

/// The options of a class-aware fit, with plans that are tight.
inline Options class_aware() {
  return {.method = Method::class_aware, .tolerance = 1e-9, .inner = InnerTolerance::tight};
}

/// The classes of a problem in the coordinates of its points, with no span.
struct PlacedProblem {
  Space space;
  ClassProblem classes;

  explicit PlacedProblem(const Problem& problem) {
    Domain source = problem.source, target = problem.target;
    source.weights = source.probabilities();
    target.weights = target.probabilities();
    space = make_space(source, target, Span::everything);
    classes = make_class_problem(space, source.labels, problem.known_labels);
  }
};

/// Share of equal entries.
inline double agreement(const Labels& a, const Labels& b) {
  return a.size() == b.size() ? (a.array() == b.array()).cast<double>().mean() : 0;
}

}  // namespace remblai::test
