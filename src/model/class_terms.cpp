// Opinions under other shares, and masses by class.
#include "model/class_terms.h"

#include "model/class_places.h"

namespace remblai {

Matrix opinions_under(const Matrix& posterior, const Vector& source_shares, const Vector& shares) {
  Matrix opinions = posterior * shares.cwiseQuotient(source_shares).asDiagonal();
  for (Index j = 0; j < opinions.rows(); ++j) opinions.row(j) /= opinions.row(j).sum();
  return opinions;
}

Matrix opinions_on(const ClassModel& classes, const Matrix& embedded) {
  const Classifier& opinion = classes.opinion;
  return opinions_under(opinion.probabilities(opinion.scores(embedded)), classes.source_shares,
                        classes.shares);
}

// The head has the target points first. Ranks make all embeddings alike, by pieces of their own.
Matrix embedded_targets(const Model& model, const std::vector<Index>& rows) {
  const bool at_hand =
      model.classes && !model.options.resources.comm && model.classes->head.width > 0 &&
      model.classes->head.points.rows() == model.source.size() + model.target.size();
  return at_hand ? Matrix(model.classes->head.points(rows, Eigen::all))
                 : model.metric.embed(model.target.points(rows, Eigen::all));
}

Matrix class_costs(const Matrix& opinions, double weight) {
  constexpr double smallest = 1e-6;
  return -weight * opinions.array().max(smallest).log();
}

Vector class_masses(const Model& model) {
  const ClassModel& classes = *model.classes;
  const Vector ratios = classes.shares.cwiseQuotient(classes.source_shares);
  Vector masses = model.source.weights;
  for (Index i = 0; i < masses.size(); ++i)
    if (masses[i] > 0)
      masses[i] *= ratios[ClassPlaces::place_in(classes.classes, model.source.labels[i])];
  return masses;
}

}  // namespace remblai
