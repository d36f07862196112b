// The plan of a model and its extension to new points: entropic, from potentials, or sparse, from
// the masses of an exact plan. `coupling_of` is the one place of a model that tells them apart.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "remblai/model.h"
#include "transport/engine.h"

namespace remblai {

/// Linear algebra has the threads of the model's options while it lives, and their GPU where that
/// is at hand: a model may have come from another machine.
DenseWork dense_work_of(const Model& model);

/// Throws Error where the model has the source points of one rank of several, and `what` needs
/// those of all.
void require_all_rows(const Model& model, const char* what);

/// Forward: from source points to target points. Backward: the other way.
enum class Direction { forward, backward };

/// For some points, from number `first` on: one row a point, its weights over the points of the
/// other domain, which sum to 1 (or are all 0 where a point has no mass).
using RowVisitor = std::function<void(Index first, const Matrix& rows)>;

class Coupling {
 public:
  explicit Coupling(const Model& model) : model_(model) {}
  virtual ~Coupling() = default;

  /// Conditional distributions of points of the model, by their numbers, in blocks of bounded
  /// memory.
  virtual void visit_own(Direction direction, const std::vector<Index>& points,
                         const RowVisitor& visit) const = 0;

  /// The same for any points, in preprocessed coordinates. Never 0/0, however far a point is.
  virtual void visit_new(Direction direction, const Matrix& points,
                         const RowVisitor& visit) const = 0;

  /// The same where each of several ranks has some points of the other domain. The weight of the
  /// j-th of these is rows(i, j) 2^tops(i), up to a factor that is the same on all ranks. Never
  /// called for a rank whose points have no weight, nor for an exact plan.
  using PartVisitor = std::function<void(Index first, const Matrix& rows, const Vector& tops)>;
  virtual void visit_part(Direction direction, const Matrix& points,
                          const PartVisitor& visit) const = 0;

  /// The mass of each point of the model in the plan: its row sums, or column sums when backward.
  virtual Vector masses(Direction direction) const = 0;

  /// Averages of the other domain under these distributions, in preprocessed coordinates.
  virtual Matrix own_barycentres(Direction direction, const std::vector<Index>& points) const;
  Matrix own_barycentres(Direction direction) const;  ///< of all points
  virtual Matrix new_barycentres(Direction direction, const Matrix& points) const;

  /// Rows of the plan itself, in order, some at a time.
  void visit_plan(const RowVisitor& visit) const;

 protected:
  const Domain& own(Direction direction) const {
    return direction == Direction::forward ? model_.source : model_.target;
  }
  const Domain& other(Direction direction) const {
    return direction == Direction::forward ? model_.target : model_.source;
  }

  const Model& model_;
};

/// Keeps a reference to the model. Throws Error when the model holds no plan.
std::unique_ptr<Coupling> coupling_of(const Model& model);

}  // namespace remblai
