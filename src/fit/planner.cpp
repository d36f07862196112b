// The two kinds of plan.
#include "fit/planner.h"

#include <cmath>
#include <utility>

#include "transport/ground_cost.h"

namespace remblai {
namespace {

class EntropicPlanner final : public Planner {
 public:
  EntropicPlanner(const Vector& p, const Vector& q, const Resources& resources)
      : transport_(p, q, resources) {}

  void prepare(const PlanOptions& options) override { options_ = options; }
  void take_points(PointPair points, bool shares) override {
    transport_.take_points(std::move(points), shares);
  }
  PointPair released_points() override { return transport_.released_points(); }
  void set_classes(const Matrix& x, const Matrix& z, const Matrix& left, const Matrix& right,
                   const Vector& p) override {
    transport_.set_source_weights(p);
    transport_.set_points(x, z, left, right);
  }
  void start_from(const Vector& g) override { transport_.start_from(g); }

  TransportResult solve(double tolerance, const KeepGoing& keep_going,
                        const Snapshot& snapshot) override {
    TransportOptions options;
    options.tolerance = tolerance;
    options.solver = options_.solver;
    options.relax_source = options_.relax_source;
    options.relax_target = options_.relax_target;
    options.keep_going = keep_going;
    options.snapshot = snapshot;
    return transport_.solve(options_.lambda, options);
  }

  PlanMoments moments(const Matrix& y, bool shares) const override {
    return {transport_.plan_times(y, shares), transport_.source_marginal(),
            transport_.target_marginal()};
  }
  Matrix transposed_times(const Matrix& y) const override {
    return transport_.transposed_plan_times(y);
  }
  Matrix plan() const override { return transport_.plan(); }
  const Vector& f() const override { return transport_.f(); }
  const Vector& g() const override { return transport_.g(); }
  const std::vector<Mass>& masses() const override { return none_; }

 private:
  Transport transport_;
  PlanOptions options_;
  std::vector<Mass> none_;
};

class ExactPlanner final : public Planner {
 public:
  ExactPlanner(const Vector& p, const Vector& q, const Resources& resources)
      : p_(p), q_(q), resources_(resources) {}

  void prepare(const PlanOptions&) override {
    require_exact_memory(p_.size(), q_.size(), resources_);
  }
  void take_points(PointPair points, bool) override {  // one process has all
    cost_ = GroundCost::between_points(std::move(points));
  }
  PointPair released_points() override { return std::move(cost_).factors(); }
  void set_classes(const Matrix& x, const Matrix& z, const Matrix& left, const Matrix& right,
                   const Vector& p) override {
    p_ = p;
    cost_ = GroundCost::between_points(x, z, {}, std::move(cost_));
    cost_.add_terms(left, right);
  }
  void start_from(const Vector&) override {}

  TransportResult solve(double, const KeepGoing&, const Snapshot&) override {
    exact_ = exact_transport(cost_.block(0, cost_.rows()), p_, q_);
    const PlanMoments sums = moments(Matrix::Zero(q_.size(), 0), false);
    TransportResult result;
    result.cost = exact_.cost;
    for (const Mass& mass : exact_.masses) result.entropy -= mass.amount * std::log(mass.amount);
    result.mass = sums.rows.sum();
    result.source_error = (sums.rows - p_).lpNorm<1>();
    result.target_error = (sums.columns - q_).lpNorm<1>();
    result.gap = exact_.gap;
    result.dual = exact_.cost - exact_.gap;
    result.converged = true;
    return result;
  }

  PlanMoments moments(const Matrix& y, bool) const override {
    PlanMoments plan{Matrix::Zero(p_.size(), y.cols()), Vector::Zero(p_.size()),
                     Vector::Zero(q_.size())};
    for (const Mass& mass : exact_.masses) {
      plan.plan_z.row(mass.source) += mass.amount * y.row(mass.target);
      plan.rows[mass.source] += mass.amount;
      plan.columns[mass.target] += mass.amount;
    }
    return plan;
  }
  Matrix transposed_times(const Matrix& y) const override {
    Matrix product = Matrix::Zero(q_.size(), y.cols());
    for (const Mass& mass : exact_.masses)
      product.row(mass.target) += mass.amount * y.row(mass.source);
    return product;
  }
  Matrix plan() const override {
    Matrix g = Matrix::Zero(p_.size(), q_.size());
    for (const Mass& mass : exact_.masses) g(mass.source, mass.target) = mass.amount;
    return g;
  }
  const Vector& f() const override { return exact_.f; }
  const Vector& g() const override { return exact_.g; }
  const std::vector<Mass>& masses() const override { return exact_.masses; }

 private:
  Vector p_, q_;
  Resources resources_;
  GroundCost cost_;
  ExactPlan exact_;
};

}  // namespace

std::unique_ptr<Planner> make_planner(bool exact, const Vector& p, const Vector& q,
                                      const Resources& resources) {
  if (exact) return std::make_unique<ExactPlanner>(p, q, resources);
  return std::make_unique<EntropicPlanner>(p, q, resources);
}

}  // namespace remblai
