// The kernel on the processor: entries in double or float, stored or made row by row in every pass.
// Each pass works on fixed pieces of rows, and the column sums of the pieces are added in a fixed
// order, so every number of threads gives the same bits.
#include "transport/kernel_cpu.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <mutex>
#include <numbers>
#include <optional>
#include <thread>
#include <vector>

#include "base/common_rows.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "transport/column_sums.h"
#include "transport/cpu_entries.h"

namespace remblai {
namespace {

// Points on the target side up to which a Newton step may factorise its matrix.
constexpr Index largest_factored = 4096;

// body(first row, number of rows: 4 or 1) over a range.
template <class Body>
void by_fours(Rows rows, Body&& body) {
  Index i = rows.begin;
  for (; i + 4 <= rows.end; i += 4) body(i, 4);
  for (; i < rows.end; ++i) body(i, 1);
}

template <class T>
class CpuKernel final : public Kernel {
 public:
  explicit CpuKernel(const Resources& resources) : resources_(resources) {}

  void use(const GroundCost& cost) override;
  void rest() override;
  Vector rescale(double lambda, const Vector& v, Vector& u, const RowRule& rule) override;
  Sums fix(double lambda, const Vector& f, const Vector& g) override;
  Vector fused(const Vector& x, const RowRule& rule) const override;
  Vector times(const Vector& x) const override;
  Vector transpose_times(const Vector& y) const override;
  Matrix times(const Matrix& y) const override;
  Matrix times_shares(const Matrix& y, const Shard& shares) const override;
  bool takes_shares(const GroundCost& cost) override { return !is_double && !plan_of(cost).stored; }
  Matrix matrix() const override;
  bool has_factors() const override { return entries_.has_factors(); }
  double between(const Vector& y, const Vector& x) const override { return entries_.between(y, x); }
  Vector squares_transpose_times(const Vector& w) const override;
  double log2_column_sum(Index j, const Vector& rows) const override;
  // A factor needs the sum of a matrix over all rows in one order, which would be n^2 numbers a
  // piece where they are divided among processes.
  Index most_factored() const override {
    return plan_.stored && !cost_->shard().divided() ? largest_factored : 0;
  }
  bool factorise(const Vector& left, const Vector& right, const Vector& null) override;
  Vector precondition(const Vector& y) const override;
  double safe_log2() const override { return is_double ? 300 : 20; }
  double rounding() const override { return is_double ? 1e-11 : 1e-5; }
  bool long_passes() const override { return !plan_.stored; }

 private:
  static constexpr bool is_double = std::is_same_v<T, double>;
  using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

  Index m() const { return cost_->rows(); }
  Index n() const { return cost_->columns(); }
  void dot_block(const T* k, int count, const Column& x, double* out) const;
  template <class Body>
  void for_rows(Body&& body) const;
  template <class Body>
  void for_made_parts(Rows rows, Index most, Body&& body) const;
  void add_product(Rows columns, const Matrix& y, Matrix& product) const;
  template <class Body>
  void sweep(Body&& body) const;
  template <class Body>
  void sweep_costs(Body&& body);
  ColumnSums<T>& fresh_sums() const;
  Vector total(ColumnSums<T>& sums) const;
  Rows rows_of(Index piece) const;
  WorkPlan plan_of(const GroundCost& cost);

  // A block of rows for one thread, kept from pass to pass.
  class Block {
   public:
    explicit Block(const CpuKernel& kernel) : kernel_(kernel) {
      const std::lock_guard lock(kernel_.blocks_mutex_);
      if (kernel_.blocks_.empty()) return;
      rows = std::move(kernel_.blocks_.back());
      kernel_.blocks_.pop_back();
    }
    ~Block() {
      const std::lock_guard lock(kernel_.blocks_mutex_);
      kernel_.blocks_.push_back(std::move(rows));
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    RowMatrix<T> rows;

   private:
    const CpuKernel& kernel_;
  };

  const simd::Loops<T>& loops_ = simd::loops<T>();
  Resources resources_;
  double memory_ = 0;  // bytes for matrices of all pairs
  const GroundCost* cost_ = nullptr;
  WorkPlan plan_;
  CpuEntries<T> entries_;
  RowMatrix<T> kernel_;              // K; empty when it is not stored
  double scale_ = 0;                 // log2(e)/lambda, for entries in their unit
  Vector row_shift_, column_shift_;  // exponents of K beside the entries
  mutable ColumnSums<T> sums_;
  mutable std::vector<RowMatrix<T>> blocks_;
  mutable std::mutex blocks_mutex_;
  mutable std::thread::id caller_;          // of the pass under way
  mutable std::atomic<bool> stops_{false};  // it was interrupted
  linalg::FloatMatrix rounded_, factor_;
};

template <class T>
WorkPlan CpuKernel<T>::plan_of(const GroundCost& cost) {
  if (memory_ == 0) memory_ = resources_.memory_bytes();
  if (memory_ == 0) memory_ = available_memory() / 2 / cost.shard().ranks_here();
  return plan_work(cost, sizeof(T), memory_, resources_.threads, largest_factored);
}

template <class T>
void CpuKernel<T>::use(const GroundCost& cost) {
  cost_ = &cost;
  plan_ = plan_of(cost);
  if (plan_.stored) {
    blocks_.clear();
    kernel_.resize(m(), n());
  } else {
    kernel_.resize(0, 0);
  }
  entries_.use(cost, plan_);
  row_shift_.resize(m());
}

template <class T>
void CpuKernel<T>::rest() {
  if (plan_.stored) return;
  entries_.drop_factors();
  blocks_.clear();
  sums_.clear();
}

// out_i = sum_j k_ij x_j for the four rows, or one, at k.
template <class T>
void CpuKernel<T>::dot_block(const T* k, int count, const Column& x, double* out) const {
  if (count == 4)
    loops_.dot_rows4(k, x.size(), x.data(), x.size(), out);
  else
    out[0] = loops_.dot(k, x.data(), x.size());
}

template <class T>
ColumnSums<T>& CpuKernel<T>::fresh_sums() const {
  sums_.reset(plan_.pieces, n());
  return sums_;
}

// The sums over the rows of all processes.
template <class T>
Vector CpuKernel<T>::total(ColumnSums<T>& sums) const {
  const Shard& shard = cost_->shard();
  if (!shard.divided()) return sums.total();
  if (plan_.by_shard) return shard.sum_parts(n(), [&](Index k) -> Vector { return sums.part(k); });
  // Too little memory for the sums of every piece.
  return shard.sum_of_ranks(sums.total());
}

template <class T>
Rows CpuKernel<T>::rows_of(Index k) const {
  return plan_.by_shard ? cost_->shard().piece(k) : piece(m(), plan_.pieces, k);
}

// body(piece, rows of it), by all threads. Where rows are made, every thread calls BLAS by itself.
template <class T>
template <class Body>
void CpuKernel<T>::for_rows(Body&& body) const {
  std::optional<linalg::Threads> alone;
  if (!plan_.stored) alone.emplace(1);
  caller_ = std::this_thread::get_id();
  stops_ = false;
  run_pieces(plan_.pieces, plan_.threads, [&](Index k) { body(k, rows_of(k)); });
}

// body(part) for `most` rows at a time, or as many as there are. The thread that made the call asks
// whether to go on, and all of them stop.
template <class T>
template <class Body>
void CpuKernel<T>::for_made_parts(Rows rows, Index most, Body&& body) const {
  for_parts(rows, most, [&](Rows part) {
    if (std::this_thread::get_id() == caller_ && !goes_on()) stops_ = true;
    if (stops_) throw Interrupted();
    body(part);
  });
}

// body(piece, rows, K of the first of them): all rows of a piece at once when K is stored, else a
// few at a time, in order. A piece is never visited by two threads at a time.
template <class T>
template <class Body>
void CpuKernel<T>::sweep(Body&& body) const {
  for_rows([&](Index piece, Rows rows) {
    if (plan_.stored) return body(piece, rows, kernel_.row(rows.begin).data());
    Block block(*this);
    for_made_parts(rows, plan_.made_rows, [&](Rows part) {
      entries_.make(part, block.rows);
      for (Index i = part.begin; i < part.end; ++i) {
        T* row = block.rows.row(i - part.begin).data();
        loops_.exp2_row(row, column_shift_.data(), scale_, row_shift_[i], row, n());
      }
      body(piece, part, block.rows.data());
    });
  });
}

// body(piece, row, its entries of the costs, where those of K belong: in place of the entries when
// K is not stored).
template <class T>
template <class Body>
void CpuKernel<T>::sweep_costs(Body&& body) {
  ++counts_.exponentials;
  for_rows([&](Index piece, Rows rows) {
    if (plan_.stored) {
      for (Index i = rows.begin; i < rows.end; ++i)
        body(piece, i, entries_.row(i), kernel_.row(i).data());
      return;
    }
    Block block(*this);
    Column row(n());
    for_made_parts(rows, plan_.made_rows, [&](Rows part) {
      entries_.make(part, block.rows);
      for (Index i = part.begin; i < part.end; ++i)
        body(piece, i, block.rows.row(i - part.begin).data(), row.data());
    });
  });
}

template <class T>
Vector CpuKernel<T>::rescale(double lambda, const Vector& v, Vector& u, const RowRule& rule) {
  const double s = std::numbers::log2e / lambda;
  scale_ = s * entries_.unit();
  column_shift_ = v - s * cost_->beta();
  ColumnSums<T>& sums = fresh_sums();
  sweep_costs([&](Index piece, Index i, const T* c, T* k) {
    const double top = loops_.shifted_max(c, column_shift_.data(), scale_, n());
    row_shift_[i] = -top;
    u[i] = s * cost_->alpha()[i] - top;
    const double y = rule(i, loops_.exp2_row(c, column_shift_.data(), scale_, -top, k, n()));
    sums.add(piece, k, 1, &y);
  });
  return total(sums);
}

template <class T>
Kernel::Sums CpuKernel<T>::fix(double lambda, const Vector& f, const Vector& g) {
  const double s = std::numbers::log2e / lambda;
  scale_ = s * entries_.unit();
  row_shift_ = s * (f - cost_->alpha());
  column_shift_ = s * (g - cost_->beta());
  Sums out{Vector(m()), {}, 0};
  Vector costs(m());
  const double one = 1;
  ColumnSums<T>& sums = fresh_sums();
  sweep_costs([&](Index piece, Index i, const T* c, T* k) {
    out.rows[i] = loops_.exp2_row(c, column_shift_.data(), scale_, row_shift_[i], k, n());
    costs[i] = loops_.dot(k, c, n());
    sums.add(piece, k, 1, &one);
  });
  out.columns = total(sums);
  const Shard& shard = cost_->shard();
  out.cost = entries_.unit() * shard.sum(costs) + shard.dot(cost_->alpha(), out.rows) +
             cost_->beta().dot(out.columns);
  return out;
}

template <class T>
Vector CpuKernel<T>::fused(const Vector& x, const RowRule& rule) const {
  ++counts_.fused;
  const Column entries = x.template cast<T>();
  ColumnSums<T>& sums = fresh_sums();
  sweep([&](Index piece, Rows rows, const T* k) {
    by_fours(rows, [&](Index i, int count) {
      const T* block = k + (i - rows.begin) * n();
      double products[4];
      dot_block(block, count, entries, products);
      for (int l = 0; l < count; ++l) products[l] = rule(i + l, products[l]);
      sums.add(piece, block, count, products);
    });
  });
  return total(sums);
}

template <class T>
Vector CpuKernel<T>::times(const Vector& x) const {
  ++counts_.products;
  const Column entries = x.template cast<T>();
  Vector y(m());
  sweep([&](Index, Rows rows, const T* k) {
    by_fours(rows, [&](Index i, int count) {
      dot_block(k + (i - rows.begin) * n(), count, entries, y.data() + i);
    });
  });
  return y;
}

template <class T>
Vector CpuKernel<T>::transpose_times(const Vector& y) const {
  ++counts_.products;
  ColumnSums<T>& sums = fresh_sums();
  sweep([&](Index piece, Rows rows, const T* k) {
    by_fours(rows, [&](Index i, int count) {
      sums.add(piece, k + (i - rows.begin) * n(), count, y.data() + i);
    });
  });
  return total(sums);
}

template <class T>
Vector CpuKernel<T>::squares_transpose_times(const Vector& w) const {
  ++counts_.products;
  ColumnSums<T>& sums = fresh_sums();
  sweep([&](Index piece, Rows rows, const T* k) {
    for (Index i = rows.begin; i < rows.end; ++i)
      sums.add_squares(piece, k + (i - rows.begin) * n(), w[i]);
  });
  return total(sums);
}

template <class T>
Matrix CpuKernel<T>::times(const Matrix& y) const {
  if constexpr (is_double) {
    if (plan_.stored && !plan_.by_shard) {
      ++counts_.products;
      return linalg::multiply(kernel_, y);
    }
  }
  return times_shares(y, {});
}

// Some columns of a few rows at a time, so that neither a row that is made nor Y is there as a
// whole.
template <class T>
Matrix CpuKernel<T>::times_shares(const Matrix& y, const Shard& shares) const {
  constexpr Index most = 4096;
  ++counts_.products;
  if (!plan_.stored) {  // what comes next takes memory too
    sums_.clear();
    blocks_.clear();
  }
  const linalg::Threads alone(1);
  Matrix product = Matrix::Zero(m(), y.cols());
  visit_shares(shares, y, [&](Index first, const Matrix& rows) {
    for_parts({0, rows.rows()}, most, [&](Rows some) {
      add_product({first + some.begin, first + some.end},
                  rows.middleRows(some.begin, some.end - some.begin), product);
    });
  });
  return product;
}

// Adds to the product what these columns of K and their rows of Y have in it.
template <class T>
void CpuKernel<T>::add_product(Rows columns, const Matrix& y, Matrix& product) const {
  constexpr Index most = 192;  // whether stored or made, for any number of threads and ranks
  const Index width = columns.end - columns.begin;
  for_rows([&](Index, Rows rows) {
    RowMatrix<T> made;
    Matrix block;
    for_made_parts(rows, most, [&](Rows part) {
      const Index count = part.end - part.begin;
      if (plan_.stored) {
        block = kernel_.block(part.begin, columns.begin, count, width).template cast<double>();
      } else {
        entries_.make(part, columns, made);
        for (Index i = 0; i < count; ++i)
          loops_.exp2_row(made.row(i).data(), column_shift_.data() + columns.begin, scale_,
                          row_shift_[part.begin + i], made.row(i).data(), width);
        block = made.template cast<double>();
      }
      product.middleRows(part.begin, count) += linalg::multiply(block, y);
    });
  });
}

template <class T>
Matrix CpuKernel<T>::matrix() const {
  ++counts_.products;
  Matrix out(m(), n());
  sweep([&](Index, Rows rows, const T* k) {
    const Index count = rows.end - rows.begin;
    out.middleRows(rows.begin, count) =
        Eigen::Map<const RowMatrix<T>>(k, count, n()).template cast<double>();
  });
  return out;
}

template <class T>
double CpuKernel<T>::log2_column_sum(Index j, const Vector& rows) const {
  return remblai::log2_column_sum(entries_.column(j), scale_ / entries_.unit(), rows,
                                  cost_->shard());
}

template <class T>
bool CpuKernel<T>::factorise(const Vector& left, const Vector& right, const Vector& null) {
  assert(plan_.stored);
  ++counts_.products;
  rounded_.resize(m(), n());
  sweep([&](Index, Rows rows, const T* k) {
    for (Index i = rows.begin; i < rows.end; ++i)
      loops_.round_row(k + (i - rows.begin) * n(), left[i], right.data(), rounded_.row(i).data(),
                       n());
  });
  factor_.resize(n(), n());
  const Eigen::VectorXf direction = null.cast<float>();
  for (Index j = 0; j < n(); ++j) {
    if (null.size() > 0)
      factor_.row(j).head(j + 1) = direction[j] * direction.head(j + 1).transpose();
    else
      factor_.row(j).head(j + 1).setZero();
    factor_(j, j) += 1 + 1e-6F;
  }
  linalg::subtract_gram(rounded_, factor_);
  return linalg::cholesky_in_place(factor_);
}

template <class T>
Vector CpuKernel<T>::precondition(const Vector& y) const {
  Eigen::VectorXf x = y.cast<float>();
  linalg::solve_factored(factor_, x);
  return x.cast<double>();
}

}  // namespace

std::unique_ptr<Kernel> make_cpu_kernel(const Resources& resources) {
  if (resources.precision == Precision::float64)
    return std::make_unique<CpuKernel<double>>(resources);
  return std::make_unique<CpuKernel<float>>(resources);
}

}  // namespace remblai
