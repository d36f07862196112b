// Where the mass at a point goes: the conditional distributions of a fitted plan, for any points.
#pragma once

#include <functional>
#include <vector>

#include "base/linalg.h"
#include "remblai/model.h"

namespace remblai {

enum class Direction { forward, backward };

/// Holds BLAS at the threads of the model's options while it lives.
linalg::Threads threads_of(const Model& model);

/// For rows [first, first + weights.rows()) of the points, the weights over the points of the other
/// domain; each row sums to 1.
using ConditionalVisitor = std::function<void(Index first, const Matrix& weights)>;

/// Visits the points (preprocessed coordinates) in blocks of bounded memory (with lambda = 0 the
/// plan is held once, m x n). Forward: points of the source domain, weights over the target,
/// softmax_j((g_j - cost_j)/lambda); backward the same with f. With lambda = 0 a point gets the
/// distribution of the nearest point of its domain.
void visit_conditionals(const Model& model, Direction direction, const Matrix& points,
                        const ConditionalVisitor& visit);

/// The averages of the other domain under these distributions, in preprocessed coordinates; with
/// lambda = 0 moved by what lies between a point and the nearest one of the model.
Matrix barycentres(const Model& model, Direction direction, const Matrix& points);

/// The same for the points of the model (forward: of the source), each by its own row or column of
/// the plan: with lambda = 0 two points in one place may go different ways.
Matrix own_barycentres(const Model& model, Direction direction);

/// For each point the nearest point of its own domain (in the metric of the model) that the exact
/// plan moves.
std::vector<Index> nearest_moved(const Model& model, Direction direction, const Matrix& points);

}  // namespace remblai
