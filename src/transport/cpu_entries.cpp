// Entries of cost matrices by products of factors, and the division of memory.
#include "transport/cpu_entries.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/common_rows.h"
#include "base/linalg.h"

namespace remblai {
namespace {

// Below this many entries a pass is shorter than the start of a team of threads.
constexpr double small_matrix = 100000;

}  // namespace

WorkPlan plan_work(const GroundCost& cost, double entry_size, double memory, int threads,
                   Index most_factored) {
  const double rows = static_cast<double>(cost.rows());
  const double columns = static_cast<double>(cost.columns());
  const double pairs = rows * columns;
  WorkPlan plan;
  plan.threads = pairs < small_matrix ? 1 : std::max(1, threads);
  plan.by_shard = cost.shard().divided();
  plan.pieces = plan.by_shard ? cost.shard().pieces() : piece_count(cost.rows());
  // Enough rows for a matrix product to be fast, few enough to be in a cache when they are used.
  const double cached = std::clamp(0x1.8p24 / entry_size / columns, 32.0, 192.0);
  plan.made_rows = static_cast<Index>(cached);
  const double factor = cost.columns() <= most_factored ? sizeof(float) * columns * columns : 0;
  const bool fits = (2 * entry_size + sizeof(float)) * pairs + factor <= memory;
  plan.stored = cost.is_dense() || cost.shard().all(fits);
  if (plan.stored) return plan;
  // A half for column sums, which floats have twice, and a half for blocks of rows.
  const double sums = columns * (entry_size < sizeof(double) ? 12 : 8);
  const Index affordable = std::max<Index>(1, static_cast<Index>(std::min(1e6, memory / 2 / sums)));
  plan.by_shard = plan.by_shard && affordable >= plan.pieces;
  plan.pieces = std::min(affordable, plan.pieces);
  plan.made_rows =
      std::max<Index>(1, static_cast<Index>(std::min(cached, memory / 2 / entry_size / columns)));
  const double block = entry_size * columns * static_cast<double>(plan.made_rows);
  plan.threads =
      static_cast<int>(std::clamp(memory / 2 / block, 1.0, static_cast<double>(plan.threads)));
  return plan;
}

template <class T>
void CpuEntries<T>::use(const GroundCost& cost, const WorkPlan& plan) {
  cost_ = &cost;
  unit_ = 1;
  if (plan.stored) {
    drop_factors();
    return store(plan);
  }
  entries_.resize(0, 0);
  keep_factors();
}

template <class T>
void CpuEntries<T>::drop_factors() {
  u_.resize(0, 0);
  v_.resize(0, 0);
}

template <class T>
void CpuEntries<T>::store(const WorkPlan& plan) {
  const Index m = cost_->rows(), n = cost_->columns();
  if constexpr (std::is_same_v<T, double>) {
    if (cost_->is_dense()) {
      entries_.resize(0, 0);  // those of the caller serve
      return;
    }
    entries_.resize(m, n);
    if (!plan.by_shard)
      return linalg::rows_times_transpose(cost_->u(), 0, cost_->v(), -2, entries_);
    // Products round by how many rows they have: these are made as if they were not stored.
    const linalg::Threads alone(1);
    run_pieces(plan.pieces, plan.threads, [&](Index k) {
      RowMatrix<T> block;
      const Rows rows = cost_->shard().piece(k);
      for (Index first = rows.begin; first < rows.end; first += plan.made_rows) {
        make({first, std::min(first + plan.made_rows, rows.end)}, block);
        entries_.middleRows(first, block.rows()) = block;
      }
    });
  } else {
    entries_.resize(m, n);
    const bool dense = cost_->is_dense();
    unit_ = linalg::power_of_two_above(dense ? (m > 0 ? cost_->matrix().cwiseAbs().maxCoeff() : 0)
                                             : 2 * linalg::longest_row(cost_->u()) *
                                                   linalg::longest_row(cost_->v()));
    Matrix some;
    for (Index first = 0; first < m; first += 256) {
      some.resize(std::min<Index>(256, m - first), n);
      if (dense)
        some = cost_->matrix().middleRows(first, some.rows());
      else
        linalg::rows_times_transpose(cost_->u(), first, cost_->v(), -2, some);
      entries_.middleRows(first, some.rows()) = (some / unit_).template cast<T>();
    }
  }
}

template <class T>
void CpuEntries<T>::keep_factors() {
  if constexpr (!std::is_same_v<T, double>) {
    const double u_size = linalg::power_of_two_above(linalg::longest_row(cost_->u()));
    const double v_size = linalg::power_of_two_above(cost_->longest_v());
    unit_ = u_size * v_size;
    u_ = (cost_->u() / u_size).template cast<T>();
    v_.resize(cost_->columns(), cost_->v().cols());
    visit_shares(cost_->targets(), cost_->v(), [&](Index first, const Matrix& rows) {
      v_.middleRows(first, rows.rows()) = (rows / v_size).template cast<T>();
    });
  }
}

template <class T>
double CpuEntries<T>::between(const Vector& a, const Vector& b) const {
  if (!has_factors()) return cost_->between(a, b);
  const Shard& shard = cost_->shard();
  const Vector moved = shard.sum(u_.rows(), u_.cols(), [&](Rows rows) {
    Vector sum = Vector::Zero(u_.cols());
    for (Index i = rows.begin; i < rows.end; ++i)
      sum += a[i] * u_.row(i).template cast<double>().transpose();
    return sum;
  });
  Vector wanted = Vector::Zero(v_.cols());
  for (Index j = 0; j < v_.rows(); ++j)
    wanted += b[j] * v_.row(j).template cast<double>().transpose();
  return shard.dot(a, cost_->alpha()) * b.sum() + b.dot(cost_->beta()) * shard.sum(a) -
         2 * unit_ * moved.dot(wanted);
}

template <class T>
Vector CpuEntries<T>::column(Index j) const {
  if (!has_factors()) return cost_->column(j);
  const Vector products = (u_ * v_.row(j).transpose()).template cast<double>() * (2 * unit_);
  return (cost_->alpha() - products).array() + cost_->beta()[j];
}

template <class T>
const T* CpuEntries<T>::row(Index i) const {
  if constexpr (std::is_same_v<T, double>)
    if (cost_->is_dense()) return cost_->matrix().row(i).data();
  return entries_.row(i).data();
}

template <class T>
void CpuEntries<T>::make(Rows rows, Rows columns, RowMatrix<T>& block) const {
  block.resize(rows.end - rows.begin, columns.end - columns.begin);
  if constexpr (std::is_same_v<T, double>)
    linalg::rows_times_transpose(cost_->u(), rows.begin, cost_->v(), -2, block, columns.begin);
  else
    linalg::rows_times_transpose(u_, rows.begin, v_, T(-2), block, columns.begin);
}

template class CpuEntries<double>;
template class CpuEntries<float>;

}  // namespace remblai
