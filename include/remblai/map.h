// Moving points from one domain into the other with a fitted model.
#pragma once

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

/// Where each source point of the model goes: sum_j G_ij z_j / sum_j G_ij, m x d. The barycentre
/// minimises sum_j G_ij |z - z_j|_A^2 for every A, so it is right for a Mahalanobis metric too.
REMBLAI_API Matrix map(const Model& model);

/// The same formula for any points of the source domain, in the caller's coordinates (n x d):
/// sum_j softmax_j((g_j - |x - z_j|_A^2)/lambda) z_j. It is never 0/0, however far x is, as long as
/// its squared distance is a finite number. With lambda = 0 a point moves with the nearest source
/// point of the model; of several in one place, the first counts.
REMBLAI_API Matrix map(const Model& model, const MatrixView& points);

/// The inverse direction: moves the target points of the model into the source domain, n x d.
REMBLAI_API Matrix map_back(const Model& model);

/// The same for any points of the target domain, in the caller's coordinates.
REMBLAI_API Matrix map_back(const Model& model, const MatrixView& points);

}  // namespace remblai
