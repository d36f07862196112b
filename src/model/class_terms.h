// What classes mean to the plan of a model: opinions, their costs, and row sums.
#pragma once

#include <vector>

#include "remblai/model.h"

namespace remblai {

/// R_jk proportional to P_jk h_k / h0_k: probabilities under the shares of the source turned into
/// those under others.
Matrix opinions_under(const Matrix& posterior, const Vector& source_shares, const Vector& shares);

/// The opinions of a model on embedded target points, n x K.
Matrix opinions_on(const ClassModel& classes, const Matrix& embedded);

/// Some of the target points, embedded. They are at hand where the head is a sum over all points.
Matrix embedded_targets(const Model& model, const std::vector<Index>& rows);

/// -weight ln(opinion), with opinions below 1e-6 counting as that.
Matrix class_costs(const Matrix& opinions, double weight);

/// The mass of each source point in the plan: its weight times the change of its class's share.
Vector class_masses(const Model& model);

}  // namespace remblai
