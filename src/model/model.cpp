// The plan of a model, made when it is asked for.
#include "remblai/model.h"

#include "model/conditional.h"

namespace remblai {

Matrix plan(const Model& model) {
  Matrix g = Matrix::Zero(model.source.size(), model.target.size());
  if (model.lambda == 0) {
    for (const Mass& mass : model.exact) g(mass.source, mass.target) = mass.amount;
    return g;
  }
  const linalg::Threads scope = threads_of(model);
  // The rows of a solved plan are exact: row i is p_i times its conditional distribution.
  visit_conditionals(
      model, Direction::forward, model.source.points, [&](Index first, const Matrix& weights) {
        g.middleRows(first, weights.rows()) =
            model.source.weights.segment(first, weights.rows()).asDiagonal() * weights;
      });
  return g;
}

}  // namespace remblai
