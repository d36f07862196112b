// Rows of a plan, from potentials or from masses.
#include "model/coupling.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/simd.h"
#include "remblai/error.h"
#include "remblai/threads.h"
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

/// softmax_j((g_j - c_j)/lambda), with f in place of g when backward.
class EntropicCoupling final : public Coupling {
 public:
  using Coupling::Coupling;

  void visit_own(Direction direction, const std::vector<Index>& points,
                 const RowVisitor& visit) const override {
    visit_new(direction, own(direction).points(points, Eigen::all), visit);
  }

  void visit_new(Direction direction, const Matrix& points,
                 const RowVisitor& visit) const override {
    visit_rows(direction, points, [&](Index first, Matrix& rows, const Vector&) {
      for (Index i = 0; i < rows.rows(); ++i) rows.row(i) /= rows.row(i).sum();
      visit(first, rows);
    });
  }

  // Sums that are exact are the weights; relaxed ones follow from the potentials.
  Vector masses(Direction direction) const override {
    const bool forward = direction == Direction::forward;
    const Options& options = model_.options;
    if ((forward ? options.relax_source : options.relax_target) == 0) return own(direction).weights;
    const Vector own_potentials =
        (forward ? model_.f : model_.g) * (std::numbers::log2e / model_.lambda);
    Vector sums(own(direction).size());
    visit_rows(
        direction, own(direction).points, [&](Index first, Matrix& rows, const Vector& tops) {
          for (Index i = 0; i < rows.rows(); ++i)
            sums[first + i] = rows.row(i).sum() * std::exp2(tops[i] + own_potentials[first + i]);
        });
    return sums;
  }

 private:
  // 2^(exponent - top) for each row, the exponents being those of (g - c)/lambda.
  template <class Visit>
  void visit_rows(Direction direction, const Matrix& points, Visit&& visit) const {
    const bool forward = direction == Direction::forward;
    const Matrix anchors = model_.metric.embed(other(direction).points);
    const double scale = std::numbers::log2e / model_.lambda;
    const Eigen::RowVectorXd potentials = scale * (forward ? model_.g : model_.f).transpose();
    for_blocks(points.rows(), anchors.rows(), [&](Index first, Index count) {
      const GroundCost cost =
          GroundCost::between_points(model_.metric.embed(points.middleRows(first, count)), anchors);
      const double unit = scale * model_.metric.unit;
      Matrix rows = cost.relative_block(0, count);
      Vector tops(count);
      for (Index i = 0; i < count; ++i) {
        auto row = rows.row(i);
        row = potentials - unit * row;
        const double top = row.maxCoeff();
        row.array() -= top;
        simd::exp2(row.data(), row.data(), row.size());
        tops[i] = top - unit * cost.alpha()[i];
      }
      visit(first, rows, tops);
    });
  }
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
    const std::vector<Index> moved = positive_entries(masses(direction));
    const Matrix anchors = model_.metric.embed(own(direction).points(moved, Eigen::all));
    std::vector<Index> nearest;
    for_blocks(points.rows(), anchors.rows(), [&](Index first, Index count) {
      const Matrix costs =
          GroundCost::between_points(model_.metric.embed(points.middleRows(first, count)), anchors)
              .relative_block(0, count);
      for (Index i = 0; i < count; ++i) {
        Index best = 0;
        costs.row(i).minCoeff(&best);
        nearest.push_back(moved[static_cast<std::size_t>(best)]);
      }
    });
    return nearest;
  }
};

}  // namespace

linalg::Threads threads_of(const Model& model) {
  return linalg::Threads(thread_count(model.options.resources.threads));
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

Matrix Coupling::plan() const {
  Matrix plan(model_.source.size(), model_.target.size());
  const Vector sums = masses(Direction::forward);
  visit_own(Direction::forward, all_of(plan.rows()), [&](Index first, const Matrix& rows) {
    plan.middleRows(first, rows.rows()) = sums.segment(first, rows.rows()).asDiagonal() * rows;
  });
  return plan;
}

std::unique_ptr<Coupling> coupling_of(const Model& model) {
  if (model.f.size() == 0 || model.g.size() == 0)
    throw Error({.field = "model",
                 .value = {},
                 .problem = "it holds no plan",
                 .remedy = "use one that fit returned"});
  if (model.lambda == 0) return std::make_unique<SparseCoupling>(model);
  return std::make_unique<EntropicCoupling>(model);
}

}  // namespace remblai
