// Passes of another kernel, with their sums over rows added up over the ranks.
#include "transport/kernel_ranks.h"

#include <type_traits>
#include <utility>

namespace remblai {
namespace {

class RanksKernel final : public Kernel {
 public:
  explicit RanksKernel(std::unique_ptr<Kernel> local) : local_(std::move(local)) {}

  void use(const GroundCost& cost) override {
    shard_ = &cost.shard();
    local_->use(cost);
  }
  void rest() override { local_->rest(); }
  Vector rescale(double lambda, const Vector& v, Vector& u, const RowRule& rule) override {
    return total(counted([&] { return local_->rescale(lambda, v, u, rule); }));
  }
  Sums fix(double lambda, const Vector& f, const Vector& g) override {
    Sums sums = counted([&] { return local_->fix(lambda, f, g); });
    sums.columns = total(sums.columns);
    sums.cost = total(Vector::Constant(1, sums.cost))[0];
    return sums;
  }
  Vector fused(const Vector& x, const RowRule& rule) const override {
    return total(counted([&] { return local_->fused(x, rule); }));
  }
  Vector times(const Vector& x) const override {
    return counted([&] { return local_->times(x); });
  }
  Vector transpose_times(const Vector& y) const override {
    return total(counted([&] { return local_->transpose_times(y); }));
  }
  Matrix times(const Matrix& y) const override {
    return counted([&] { return local_->times(y); });
  }
  Matrix matrix() const override {
    return counted([&] { return local_->matrix(); });
  }
  double between(const Vector& y, const Vector& x) const override {
    return total(Vector::Constant(1, local_->between(y, x)))[0];
  }
  Vector squares_transpose_times(const Vector& w) const override {
    return total(counted([&] { return local_->squares_transpose_times(w); }));
  }
  // Of the costs, which know the ranks.
  double log2_column_sum(Index j, const Vector& rows) const override {
    return local_->log2_column_sum(j, rows);
  }
  Index most_factored() const override { return 0; }
  bool factorise(const Vector&, const Vector&, const Vector&) override { return false; }
  Vector precondition(const Vector& y) const override { return y; }
  double safe_log2() const override { return local_->safe_log2(); }
  double rounding() const override { return local_->rounding(); }

 private:
  Vector total(const Vector& local) const { return shard_->sum_of_ranks(local); }

  template <class Pass>
  std::invoke_result_t<Pass&> counted(Pass&& pass) const {
    local_->reset_counts();
    auto result = pass();
    const PassCounts& made = local_->counts();
    counts_.fused += made.fused;
    counts_.products += made.products;
    counts_.exponentials += made.exponentials;
    return result;
  }

  std::unique_ptr<Kernel> local_;
  const Shard* shard_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> among_ranks(std::unique_ptr<Kernel> local) {
  return std::make_unique<RanksKernel>(std::move(local));
}

}  // namespace remblai
