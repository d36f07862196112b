// Rows of a plan, from potentials or from masses.
#include "model/coupling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/simd.h"
#include "model/class_places.h"
#include "model/class_terms.h"
#include "remblai/comm.h"
#include "remblai/error.h"
#include "remblai/threads.h"
#include "transport/cuda/kernel_cuda.h"
#include "transport/ground_cost.h"

namespace remblai {
namespace {

// Calls body(first, count) over blocks of rows so that rows x columns stays around 32 MB.
template <class Body>
void for_blocks(Index rows, Index columns, Body&& body) {
  const Index block = std::max<Index>(1, 4'000'000 / columns);
  for (Index first = 0; first < rows; first += block) body(first, std::min(block, rows - first));
}

std::vector<Index> all_of(Index count) {
  std::vector<Index> places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

/// For each point the nearest of some rows of a domain, in the metric of the model; of several in
/// one place, the first.
std::vector<Index> nearest_rows(const Model& model, const Domain& domain,
                                const std::vector<Index>& rows, const Matrix& points) {
  const Matrix anchors = model.metric.embed(domain.points(rows, Eigen::all));
  std::vector<Index> nearest;
  if (points.rows() == 0) return nearest;
  const GroundCost cost = GroundCost::to_anchors(model.metric.embed(points), anchors);
  for_blocks(points.rows(), anchors.rows(), [&](Index first, Index count) {
    const Matrix costs = cost.relative_block(first, count);
    for (Index i = 0; i < count; ++i) {
      Index best = 0;
      costs.row(i).minCoeff(&best);
      nearest.push_back(rows[static_cast<std::size_t>(best)]);
    }
  });
  return nearest;
}

/// Points as the cost of a model sees them: embedded, with their columns of the class term (none
/// where the model knows no classes).
struct Side {
  Matrix points, terms;
};

/// Makes the two sides of the cost. Source points move with their class; target points bring the
/// classifier's opinion.
class Sides {
 public:
  explicit Sides(const Model& model)
      : model_(model), classes_(model.classes ? &*model.classes : nullptr) {}

  Side own_source(const std::vector<Index>& rows) const {
    const Matrix points = model_.source.points(rows, Eigen::all);
    if (!classes_) return {model_.metric.embed(points), {}};
    std::vector<Index> places;
    for (const Index i : rows) places.push_back(place_of(i));
    return moved(points, places);
  }

  // A new point is taken for one of the class of the nearest source point, before any move.
  Side new_source(const Matrix& points) const {
    if (!classes_) return {model_.metric.embed(points), {}};
    std::vector<Index> places;
    for (const Index row :
         nearest_rows(model_, model_.source, positive_entries(model_.source.weights), points))
      places.push_back(place_of(row));
    return moved(points, places);
  }

  Side own_target(const std::vector<Index>& rows) const {
    const Matrix embedded = embedded_targets(model_, rows);
    if (!classes_) return {embedded, {}};
    return {embedded, costs_of(classes_->opinions(rows, Eigen::all))};
  }

  Side new_target(const Matrix& points) const {
    const Matrix embedded = model_.metric.embed(points);
    if (!classes_) return {embedded, {}};
    return {embedded, costs_of(opinions_on(*classes_, embedded))};
  }

 private:
  // The place of a source point's class; a point of weight 0 may have a class of its own: the
  // first.
  Index place_of(Index row) const {
    return std::max<Index>(0, ClassPlaces::place_in(classes_->classes, model_.source.labels[row]));
  }

  Side moved(const Matrix& points, const std::vector<Index>& places) const {
    Side side{model_.metric.embed(points + classes_->plan_moves(places, Eigen::all)),
              Matrix::Zero(points.rows(), classes_->classes.size())};
    for (Index i = 0; i < points.rows(); ++i)
      side.terms(i, places[static_cast<std::size_t>(i)]) = 1;
    return side;
  }

  Matrix costs_of(const Matrix& opinions) const {
    return class_costs(opinions, classes_->class_cost / model_.metric.unit);
  }

  const Model& model_;
  const ClassModel* classes_;
};

/// softmax_j((g_j - c_j)/lambda), with f in place of g when backward.
class EntropicCoupling final : public Coupling {
 public:
  explicit EntropicCoupling(const Model& model) : Coupling(model), sides_(model) {}

  void visit_own(Direction direction, const std::vector<Index>& points,
                 const RowVisitor& visit) const override {
    visit_conditionals(direction, own_side(direction, points), visit);
  }

  void visit_new(Direction direction, const Matrix& points,
                 const RowVisitor& visit) const override {
    visit_conditionals(
        direction,
        direction == Direction::forward ? sides_.new_source(points) : sides_.new_target(points),
        visit);
  }

  void visit_part(Direction direction, const Matrix& points,
                  const PartVisitor& visit) const override {
    visit_rows(
        direction,
        direction == Direction::forward ? sides_.new_source(points) : sides_.new_target(points),
        [&](Index first, const Matrix& rows, const Vector& tops) { visit(first, rows, tops); });
  }

  // Sums that are exact are the weights, or follow the class shares; relaxed ones follow from the
  // potentials.
  Vector masses(Direction direction) const override {
    const bool forward = direction == Direction::forward;
    const Options& options = model_.options;
    if (forward && model_.classes) return class_masses(model_);
    if ((forward ? options.relax_source : options.relax_target) == 0) return own(direction).weights;
    const Vector own_potentials =
        (forward ? model_.f : model_.g) * (std::numbers::log2e / model_.lambda);
    Vector sums(own(direction).size());
    visit_rows(direction, own_side(direction, all_of(own(direction).size())),
               [&](Index first, Matrix& rows, const Vector& tops) {
                 for (Index i = 0; i < rows.rows(); ++i)
                   sums[first + i] =
                       rows.row(i).sum() * std::exp2(tops[i] + own_potentials[first + i]);
               });
    return sums;
  }

 private:
  Side own_side(Direction direction, const std::vector<Index>& points) const {
    return direction == Direction::forward ? sides_.own_source(points) : sides_.own_target(points);
  }

  void visit_conditionals(Direction direction, const Side& side, const RowVisitor& visit) const {
    visit_rows(direction, side, [&](Index first, Matrix& rows, const Vector&) {
      for (Index i = 0; i < rows.rows(); ++i) rows.row(i) /= rows.row(i).sum();
      visit(first, rows);
    });
  }

  // 2^(exponent - top) for each row, the exponents being those of (g - c)/lambda.
  template <class Visit>
  void visit_rows(Direction direction, const Side& side, Visit&& visit) const {
    if (side.points.rows() == 0) return;
    const bool forward = direction == Direction::forward;
    const Side anchors = own_side(forward ? Direction::backward : Direction::forward,
                                  all_of(other(direction).size()));
    const double scale = std::numbers::log2e / model_.lambda;
    const Eigen::RowVectorXd potentials = scale * (forward ? model_.g : model_.f).transpose();
    const double unit = scale * model_.metric.unit;
    GroundCost cost = GroundCost::to_anchors(side.points, anchors.points);
    if (side.terms.size() > 0) cost.add_terms(side.terms, anchors.terms);
    for_blocks(side.points.rows(), anchors.points.rows(), [&](Index first, Index count) {
      Matrix rows = cost.relative_block(first, count);
      Vector tops(count);
      for (Index i = 0; i < count; ++i) {
        auto row = rows.row(i);
        row = potentials - unit * row;
        const double top = row.maxCoeff();
        row.array() -= top;
        simd::exp2(row.data(), row.data(), row.size());
        tops[i] = top - unit * cost.alpha()[first + i];
      }
      visit(first, rows, tops);
    });
  }

  Sides sides_;
};

/// The masses of an exact plan. A new point goes where the nearest point of its domain goes.
class SparseCoupling final : public Coupling {
 public:
  using Coupling::Coupling;
  using Coupling::own_barycentres;

  void visit_own(Direction direction, const std::vector<Index>& points,
                 const RowVisitor& visit) const override {
    const Vector sums = masses(direction);
    const std::vector<std::vector<Mass>> by_point = grouped(direction);
    const Index columns = other(direction).size();
    for_blocks(static_cast<Index>(points.size()), columns, [&](Index first, Index count) {
      Matrix rows = Matrix::Zero(count, columns);
      for (Index i = 0; i < count; ++i) {
        const Index point = points[static_cast<std::size_t>(first + i)];
        for (const Mass& mass : by_point[static_cast<std::size_t>(point)])
          rows(i, to(direction, mass)) = mass.amount / sums[point];
      }
      visit(first, rows);
    });
  }

  void visit_new(Direction direction, const Matrix& points,
                 const RowVisitor& visit) const override {
    visit_own(direction, nearest_moved(direction, points), visit);
  }

  void visit_part(Direction, const Matrix&, const PartVisitor&) const override {
    assert(false);  // ranks have no exact plans
  }

  Vector masses(Direction direction) const override {
    Vector sums = Vector::Zero(own(direction).size());
    for (const Mass& mass : model_.exact) sums[from(direction, mass)] += mass.amount;
    return sums;
  }

  // A point without mass moves with the nearest one that has some.
  Matrix own_barycentres(Direction direction, const std::vector<Index>& points) const override {
    Matrix mapped = Coupling::own_barycentres(direction, points);
    const Vector sums = masses(direction);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (!(sums[points[i]] > 0))
        mapped.row(static_cast<Index>(i)) =
            new_barycentres(direction, own(direction).points.row(points[i]));
    return mapped;
  }

  // What lies between a point and the nearest one of the model is kept, so that new points do not
  // collapse onto the old.
  Matrix new_barycentres(Direction direction, const Matrix& points) const override {
    return Coupling::new_barycentres(direction, points) + points -
           own(direction).points(nearest_moved(direction, points), Eigen::all);
  }

 private:
  static Index from(Direction direction, const Mass& mass) {
    return direction == Direction::forward ? mass.source : mass.target;
  }
  static Index to(Direction direction, const Mass& mass) {
    return direction == Direction::forward ? mass.target : mass.source;
  }

  std::vector<std::vector<Mass>> grouped(Direction direction) const {
    std::vector<std::vector<Mass>> groups(static_cast<std::size_t>(own(direction).size()));
    for (const Mass& mass : model_.exact)
      groups[static_cast<std::size_t>(from(direction, mass))].push_back(mass);
    return groups;
  }

  // For each point the nearest point of its own domain, in the metric of the model, that has mass.
  std::vector<Index> nearest_moved(Direction direction, const Matrix& points) const {
    return nearest_rows(model_, own(direction), positive_entries(masses(direction)), points);
  }
};

}  // namespace

void require_all_rows(const Model& model, const char* what) {
  const Comm* comm = model.options.resources.comm.get();
  if (!comm || comm->size() == 1) return;
  throw Error(
      {.field = "comm",
       .problem = fmt::format("{} needs all source points, and each rank has its own", what),
       .remedy = "use the model that gathered() gives"});
}

DenseWork dense_work_of(const Model& model) {
  Resources resources = model.options.resources;
  const auto work = [&] {
    return DenseWork(thread_count(resources), resources, model.source.size(), model.target.size());
  };
  try {
    return work();
  } catch (const Error&) {  // a GPU of the machine that made the model
    resources.device = Device::cpu;
    return work();
  }
}

Matrix Coupling::own_barycentres(Direction direction) const {
  return own_barycentres(direction, all_of(own(direction).size()));
}

Matrix Coupling::own_barycentres(Direction direction, const std::vector<Index>& points) const {
  const Matrix& targets = other(direction).points;
  Matrix mapped(static_cast<Index>(points.size()), targets.cols());
  visit_own(direction, points, [&](Index first, const Matrix& rows) {
    mapped.middleRows(first, rows.rows()) = linalg::multiply(rows, targets);
  });
  return mapped;
}

Matrix Coupling::new_barycentres(Direction direction, const Matrix& points) const {
  const Matrix& targets = other(direction).points;
  Matrix mapped(points.rows(), targets.cols());
  visit_new(direction, points, [&](Index first, const Matrix& rows) {
    mapped.middleRows(first, rows.rows()) = linalg::multiply(rows, targets);
  });
  return mapped;
}

void Coupling::visit_plan(const RowVisitor& visit) const {
  const Vector sums = masses(Direction::forward);
  visit_own(Direction::forward, all_of(model_.source.size()), [&](Index first, const Matrix& rows) {
    visit(first, sums.segment(first, rows.rows()).asDiagonal() * rows);
  });
}

std::unique_ptr<Coupling> coupling_of(const Model& model) {
  // A rank may have no source points.
  if (model.f.size() != model.source.size() || model.g.size() == 0)
    throw Error({.field = "model",
                 .value = {},
                 .problem = "it holds no plan",
                 .remedy = "use one that fit returned"});
  if (model.lambda == 0) return std::make_unique<SparseCoupling>(model);
  return std::make_unique<EntropicCoupling>(model);
}

}  // namespace remblai
