// A kernel that adds up its own rows alone, among ranks: the sums of all rows.
#include "transport/kernel_ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "ranks/thread_ranks.h"
#include "transport/kernel_cpu.h"

namespace remblai {
namespace {

// The kernel of the processor, which is not told that there are others; as a device is not.
class LoneKernel final : public Kernel {
 public:
  void use(const GroundCost& cost) override {
    cost_ = GroundCost::dense(cost.matrix());
    shared_ = &cost;
    inner_->use(cost_);
  }
  Vector rescale(double lambda, const Vector& v, Vector& u, const RowRule& rule) override {
    scale_ = std::numbers::log2e / lambda;
    ++counts_.exponentials;
    return inner_->rescale(lambda, v, u, rule);
  }
  Sums fix(double lambda, const Vector& f, const Vector& g) override {
    ++counts_.exponentials;
    return inner_->fix(lambda, f, g);
  }
  Vector fused(const Vector& x, const RowRule& rule) const override {
    ++counts_.fused;
    return inner_->fused(x, rule);
  }
  Vector times(const Vector& x) const override { return inner_->times(x); }
  Vector transpose_times(const Vector& y) const override { return inner_->transpose_times(y); }
  Matrix times(const Matrix& y) const override { return inner_->times(y); }
  Matrix matrix() const override { return inner_->matrix(); }
  double between(const Vector& y, const Vector& x) const override { return inner_->between(y, x); }
  Vector squares_transpose_times(const Vector& w) const override {
    return inner_->squares_transpose_times(w);
  }
  double log2_column_sum(Index j, const Vector& rows) const override {
    return remblai::log2_column_sum(*shared_, scale_, j, rows);
  }
  Index most_factored() const override { return 1000; }
  bool factorise(const Vector&, const Vector&, const Vector&) override { return false; }
  Vector precondition(const Vector& y) const override { return y; }
  double safe_log2() const override { return inner_->safe_log2(); }
  double rounding() const override { return inner_->rounding(); }

 private:
  std::unique_ptr<Kernel> inner_ = make_cpu_kernel({.threads = 1});
  GroundCost cost_;
  const GroundCost* shared_ = nullptr;
  double scale_ = 0;
};

void expect_near(const Vector& a, const Vector& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_LE((a - b).cwiseAbs().maxCoeff(), 1e-12 * (1 + b.cwiseAbs().maxCoeff()));
}

TEST(RanksKernel, SumsAreThoseOfAllRows) {
  const Index m = 100, n = 40;
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> uniform(0, 3);
  Matrix costs(m, n);
  for (double& value : costs.reshaped()) value = uniform(generator);
  const Vector f = Vector::Random(m), g = Vector::Random(n), x = Vector::Random(n).cwiseAbs();
  const Vector p = Vector::Constant(m, 1.0 / m), w = Vector::Random(m).cwiseAbs();
  const double lambda = 0.7;

  const auto whole = make_cpu_kernel({.threads = 1});
  const GroundCost all = GroundCost::dense(costs);
  whole->use(all);
  for (const int ranks : {1, 3})
    run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
      const Index first = m * comm->rank() / ranks, count = m * (comm->rank() + 1) / ranks - first;
      const GroundCost cost = GroundCost::dense(costs.middleRows(first, count), Shard(comm, count));
      const auto kernel = among_ranks(std::make_unique<LoneKernel>());
      kernel->use(cost);
      EXPECT_EQ(kernel->most_factored(), 0);
      const Vector local_w = w.segment(first, count), local_p = p.segment(first, count);
      Vector u(count), factors(count);
      const Marginal rows = Marginal::exact(local_p, cost.shard());
      const Vector met = kernel->rescale(lambda, g, u, RowRule::meet(rows, lambda, u, factors));
      const Vector fused = kernel->fused(x, RowRule::weigh(local_w));
      const Vector squares = kernel->squares_transpose_times(local_w);
      const double log_sum = kernel->log2_column_sum(2, local_w);
      const Kernel::Sums sums = kernel->fix(lambda, f.segment(first, count), g);
      const Vector back = kernel->transpose_times(local_w);
      const double between = kernel->between(local_w, x);
      EXPECT_EQ(kernel->counts().all(), 3);
      if (comm->rank() > 0) return;
      Vector all_u(m), all_factors(m);
      const Marginal all_rows = Marginal::exact(p);
      expect_near(met, whole->rescale(lambda, g, all_u,
                                      RowRule::meet(all_rows, lambda, all_u, all_factors)));
      expect_near(fused, whole->fused(x, RowRule::weigh(w)));
      expect_near(squares, whole->squares_transpose_times(w));
      EXPECT_NEAR(log_sum, whole->log2_column_sum(2, w), 1e-12);
      const Kernel::Sums expected = whole->fix(lambda, f, g);
      expect_near(sums.columns, expected.columns);
      expect_near(sums.rows, expected.rows.head(count));
      EXPECT_NEAR(sums.cost, expected.cost, 1e-12 * std::abs(expected.cost));
      expect_near(back, whole->transpose_times(w));
      EXPECT_NEAR(between, all.between(w, x), 1e-12 * std::abs(all.between(w, x)));
    });
}

}  // namespace
}  // namespace remblai
