// The plan of a model, made when it is asked for.
#include "remblai/model.h"

#include <utility>

#include "model/coupling.h"
#include "remblai/comm.h"

namespace remblai {

Model gathered(Model model) {
  const std::shared_ptr<const Comm> ranks = std::exchange(model.options.resources.comm, nullptr);
  const Comm* comm = ranks.get();
  if (!comm) return model;
  Domain& source = model.source;
  source.points = gather_rows(comm, source.points);
  // Ranks other than the first get nothing, which has no column either.
  source.weights = gather_rows(comm, source.weights).reshaped().eval();
  model.f = gather_rows(comm, model.f).reshaped().eval();
  // Labels are whole numbers that a double holds. A rank without points has none.
  const bool labelled = comm->maximum(Vector::Constant(1, source.labelled() ? 1 : 0))[0] > 0;
  if (labelled)
    source.labels =
        gather_rows(comm, source.labels.cast<double>()).reshaped().cast<std::int64_t>().eval();
  return model;
}

Matrix plan(const Model& model) {
  Matrix plan(model.source.size(), model.target.size());
  visit_plan(model,
             [&](Index first, const Matrix& rows) { plan.middleRows(first, rows.rows()) = rows; });
  return plan;
}

void visit_plan(const Model& model,
                const std::function<void(Index first, const Matrix& rows)>& visit) {
  const DenseWork scope = dense_work_of(model);
  coupling_of(model)->visit_plan(visit);
}

}  // namespace remblai
