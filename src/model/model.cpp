// The plan of a model, made when it is asked for.
#include "remblai/model.h"

#include "model/coupling.h"
#include "remblai/comm.h"

namespace remblai {

Model gathered(const Model& model) {
  const Comm* comm = model.options.resources.comm.get();
  if (!comm) return model;
  Model whole = model;
  whole.options.resources.comm = nullptr;
  whole.source.points = gather_rows(comm, model.source.points);
  // Ranks other than the first get nothing, which has no column either.
  whole.source.weights = gather_rows(comm, model.source.weights).reshaped();
  whole.f = gather_rows(comm, model.f).reshaped();
  // Labels are whole numbers that a double holds. A rank without points has none.
  const bool labelled = comm->maximum(Vector::Constant(1, model.source.labelled() ? 1 : 0))[0] > 0;
  whole.source.labels.resize(0);
  if (labelled)
    whole.source.labels =
        gather_rows(comm, model.source.labels.cast<double>()).reshaped().cast<std::int64_t>();
  return whole;
}

Matrix plan(const Model& model) {
  const DenseWork scope = dense_work_of(model);
  return coupling_of(model)->plan();
}

}  // namespace remblai
