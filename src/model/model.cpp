// The plan of a model, made when it is asked for.
#include "remblai/model.h"

#include "model/coupling.h"

namespace remblai {

Matrix plan(const Model& model) {
  const linalg::Threads scope = threads_of(model);
  return coupling_of(model)->plan();
}

}  // namespace remblai
