// Passes over the scaled plan. Each works on fixed pieces of rows; column sums of the pieces are
// added in a fixed order, so every number of threads gives the same bits.
#include "transport/kernel.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "base/linalg.h"
#include "base/parallel.h"
#include "base/simd.h"

namespace remblai {
namespace {

// a and b may grow to 2^(+-safe_log2) before K is made anew. In double an entry of K is cut to 0
// below 2^-1000, so an entry of the plan that was cut is below 2^-400; in float 2^-80 and 2^-40.
template <class T>
constexpr double safe_log2 = std::is_same_v<T, double> ? 300 : 20;

// Below this many entries a pass is shorter than the start of a team of threads.
constexpr Index small_matrix = 100000;

template <class T>
bool in_safe_range(const Vector& x) {
  return x.maxCoeff() < std::exp2(safe_log2<T>) && x.minCoeff() > std::exp2(-safe_log2<T>);
}

template <class T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// Column sums of K weighted by rows, one row of partial sums a piece. Floats are added up over a
// few rows at a time, then moved into the totals.
template <class T>
class ColumnSums {
 public:
  ColumnSums(Index pieces, Index n) : totals_(Matrix::Zero(pieces, n)) {
    if constexpr (!direct) {
      recent_ = RowMatrix<T>::Zero(pieces, n);
      rows_.assign(static_cast<std::size_t>(pieces), 0);
    }
  }

  // Four rows, or one, of the block at k.
  void add(Index piece, const T* k, int count, const double* a) {
    const Index n = totals_.cols();
    T* sums = nullptr;
    if constexpr (direct)
      sums = totals_.row(piece).data();
    else
      sums = recent_.row(piece).data();
    T weights[4];
    std::transform(a, a + count, weights, [](double x) { return static_cast<T>(x); });
    if (count == 4)
      loops_.add_rows4(k, n, weights, sums, n);
    else
      loops_.add_row(k, weights[0], sums, n);
    if constexpr (!direct)
      if ((rows_[static_cast<std::size_t>(piece)] += count) >= 64) move(piece);
  }

  Vector total() {
    Vector sum = Vector::Zero(totals_.cols());
    for (Index piece = 0; piece < totals_.rows(); ++piece) {
      if constexpr (!direct) move(piece);
      sum += totals_.row(piece).transpose();
    }
    return sum;
  }

 private:
  static constexpr bool direct = std::is_same_v<T, double>;

  void move(Index piece) {
    totals_.row(piece) += recent_.row(piece).template cast<double>();
    recent_.row(piece).setZero();
    rows_[static_cast<std::size_t>(piece)] = 0;
  }

  const simd::Loops<T>& loops_ = simd::loops<T>();
  Matrix totals_;
  RowMatrix<T> recent_;    // empty in double
  std::vector<int> rows_;  // that recent_ has taken
};

// body(first row, number of rows: 4 or 1) over a piece.
template <class Body>
void by_fours(Rows rows, Body&& body) {
  Index i = rows.begin;
  for (; i + 4 <= rows.end; i += 4) body(i, 4);
  for (; i < rows.end; ++i) body(i, 1);
}

// out_i = sum_j k_ij x_j for the four rows, or one, at k.
template <class T>
void dot_block(const T* k, int count, const Column<T>& x, double* out) {
  const simd::Loops<T>& loops = simd::loops<T>();
  if (count == 4)
    loops.dot_rows4(k, x.size(), x.data(), x.size(), out);
  else
    out[0] = loops.dot(k, x.data(), x.size());
}

// body(part) for the rows, `most` at a time.
template <class Body>
void for_parts(Rows rows, Index most, Body&& body) {
  for (Index begin = rows.begin; begin < rows.end; begin += most)
    body(Rows{begin, std::min(begin + most, rows.end)});
}

// Where a thread makes rows of K that are not stored; kept from pass to pass.
template <class T>
RowMatrix<T>& made_rows() {
  static thread_local RowMatrix<T> rows;
  return rows;
}

template <class T>
class ScaledKernel final : public Kernel {
 public:
  ScaledKernel(const Costs<T>& costs, const Vector& p, const Vector& q, int threads);

  bool stored() const override { return costs_.stored(); }
  double longest_step() const override { return std::is_same_v<T, double> ? 100 : 25; }
  double rounding() const override { return std::is_same_v<T, double> ? 1e-11 : 1e-5; }
  void start(double lambda, const Vector& g) override;
  double sinkhorn() override;
  void finish_rows() override;
  Vector times(const Vector& x) const override;
  Vector transpose_times(const Vector& x) const override;
  Vector squares_times(const Vector& w) const override;
  Matrix times(const Matrix& y) const override;
  Matrix scaled(const Vector& left, const Vector& right) const override;
  RowMatrix<float> rounded(const Vector& left, const Vector& right) const override;
  void keep_in_range() override;
  Vector columns() const override;
  void set_columns(const Vector& potentials) override;
  double dual() const override;
  void potentials(Vector& f, Vector& g) const override;
  double measure(double lambda, const Vector& f, const Vector& g, Vector& rows,
                 Vector& columns) override;

 private:
  void rebuild();
  bool rescue_columns();
  template <class Body>
  void sweep(Body&& body) const;
  template <class Body>
  void sweep_costs(Body&& body);
  ColumnSums<T> column_sums() const;
  Vector base_columns() const;
  double base_row(Index i) const;

  const simd::Loops<T>& loops_ = simd::loops<T>();
  const Costs<T>& costs_;
  const Vector& p_;
  const Vector& q_;
  int threads_;
  Index most_;           // rows that are made at a time
  RowMatrix<T> kernel_;  // K; empty when it is not stored
  double scale_ = 0;     // s, for costs in their unit
  Vector u_, v_;         // base 2
};

template <class T>
ScaledKernel<T>::ScaledKernel(const Costs<T>& costs, const Vector& p, const Vector& q, int threads)
    : costs_(costs),
      p_(p),
      q_(q),
      threads_(costs.rows() * costs.columns() < small_matrix ? 1 : threads),
      // Enough for a matrix product to be fast, few enough to be in a cache when they are used.
      most_(std::clamp<Index>((Index{24} << 20) / static_cast<Index>(sizeof(T)) / costs.columns(),
                              32, 192)) {
  if (costs.stored()) kernel_.resize(costs.rows(), costs.columns());
}

// What v and u are for the entries of the costs, which come without alpha and beta.
template <class T>
Vector ScaledKernel<T>::base_columns() const {
  return v_ - scale_ * costs_.beta();
}
template <class T>
double ScaledKernel<T>::base_row(Index i) const {
  return u_[i] - scale_ * costs_.alpha()[i];
}

// body(piece, rows, K of the first of them): all rows of a piece at once when K is stored, else a
// few at a time, in order. A piece is never visited by two threads at a time.
template <class T>
template <class Body>
void ScaledKernel<T>::sweep(Body&& body) const {
  if (costs_.stored()) {
    for_pieces(costs_.rows(), threads_,
               [&](Index piece, Rows rows) { body(piece, rows, kernel_.row(rows.begin).data()); });
    return;
  }
  const linalg::Threads alone(1);  // every thread of the team makes its own rows
  const Vector v = base_columns();
  for_pieces(costs_.rows(), threads_, [&](Index piece, Rows rows) {
    RowMatrix<T>& block = made_rows<T>();
    for_parts(rows, most_, [&](Rows part) {
      costs_.entries(part, block);
      for (Index i = part.begin; i < part.end; ++i) {
        T* row = block.row(i - part.begin).data();
        loops_.exp2_row(row, v.data(), scale_, base_row(i), row, block.cols());
      }
      body(piece, part, block.data());
    });
  });
}

// body(piece, row, its entries of the costs, where those of K belong).
template <class T>
template <class Body>
void ScaledKernel<T>::sweep_costs(Body&& body) {
  const Index n = costs_.columns();
  std::optional<linalg::Threads> alone;
  if (!costs_.stored()) alone.emplace(1);
  for_pieces(costs_.rows(), threads_, [&](Index piece, Rows rows) {
    Column<T> row(costs_.stored() ? 0 : n);
    for_parts(rows, most_, [&](Rows part) {
      const T* c = costs_.entries(part, made_rows<T>());
      for (Index i = part.begin; i < part.end; ++i)
        body(piece, i, c + (i - part.begin) * n,
             costs_.stored() ? kernel_.row(i).data() : row.data());
    });
  });
  ++counts_.exponentials;
}

template <class T>
ColumnSums<T> ScaledKernel<T>::column_sums() const {
  return {piece_count(costs_.rows()), costs_.columns()};
}

template <class T>
void ScaledKernel<T>::start(double lambda, const Vector& g) {
  scale_ = std::numbers::log2e / lambda * costs_.unit();
  u_.resize(costs_.rows());
  v_ = g / costs_.unit() * scale_;
  rebuild();
}

// The largest entry of each row becomes 1, whatever the potentials were; then one Sinkhorn
// iteration. A column whose sum vanishes gets its potential from a log-sum of its own, and K is
// made once more.
template <class T>
void ScaledKernel<T>::rebuild() {
  const Index n = costs_.columns();
  a.resize(costs_.rows());
  for (int attempt = 0; attempt < 20; ++attempt) {
    ColumnSums<T> sums = column_sums();
    const Vector v = base_columns();
    sweep_costs([&](Index piece, Index i, const T* c, T* k) {
      const double top = loops_.shifted_max(c, v.data(), scale_, n);
      u_[i] = scale_ * costs_.alpha()[i] - top;
      a[i] = p_[i] / loops_.exp2_row(c, v.data(), scale_, -top, k, n);
      sums.add(piece, k, 1, &a[i]);
    });
    b = q_.cwiseQuotient(sums.total());
    if (in_safe_range<T>(b) || !rescue_columns()) return;
  }
}

template <class T>
bool ScaledKernel<T>::rescue_columns() {
  const Vector u = u_.array() + a.array().log2();
  bool any = false;
  for (Index j = 0; j < b.size(); ++j) {
    if (b[j] < std::exp2(safe_log2<T>)) continue;
    any = true;
    const Vector exponent = u - scale_ / costs_.unit() * costs_.column(j);
    const double top = exponent.maxCoeff();
    const double sum =
        (exponent.array() - top).unaryExpr([](double x) { return std::exp2(x); }).sum();
    v_[j] = std::log2(q_[j]) - top - std::log2(sum);
  }
  if (any) ++counts_.exponentials;
  return any;
}

template <class T>
double ScaledKernel<T>::sinkhorn() {
  const Index n = costs_.columns();
  const Column<T> x = b.template cast<T>();
  ColumnSums<T> sums = column_sums();
  Vector errors = Vector::Zero(piece_count(costs_.rows()));
  sweep([&](Index piece, Rows rows, const T* k) {
    double error = 0;
    by_fours(rows, [&](Index i, int count) {
      const T* block = k + (i - rows.begin) * n;
      double products[4];
      dot_block(block, count, x, products);
      for (int l = 0; l < count; ++l) {
        error += std::abs(a[i + l] * products[l] - p_[i + l]);
        a[i + l] = p_[i + l] / products[l];
      }
      sums.add(piece, block, count, a.data() + i);
    });
    errors[piece] += error;
  });
  b = q_.cwiseQuotient(sums.total());
  ++counts_.sinkhorn;
  return errors.sum();
}

template <class T>
void ScaledKernel<T>::finish_rows() {
  a = p_.cwiseQuotient(times(b));
}

template <class T>
Vector ScaledKernel<T>::times(const Vector& x) const {
  ++counts_.products;
  const Index n = costs_.columns();
  const Column<T> entries = x.template cast<T>();
  Vector y(costs_.rows());
  sweep([&](Index, Rows rows, const T* k) {
    by_fours(rows, [&](Index i, int count) {
      dot_block(k + (i - rows.begin) * n, count, entries, y.data() + i);
    });
  });
  return y;
}

template <class T>
Vector ScaledKernel<T>::transpose_times(const Vector& x) const {
  ++counts_.products;
  const Index n = costs_.columns();
  ColumnSums<T> sums = column_sums();
  sweep([&](Index piece, Rows rows, const T* k) {
    by_fours(rows, [&](Index i, int count) {
      sums.add(piece, k + (i - rows.begin) * n, count, x.data() + i);
    });
  });
  return sums.total();
}

template <class T>
Vector ScaledKernel<T>::squares_times(const Vector& w) const {
  ++counts_.products;
  const Index n = costs_.columns();
  const Column<T> weights = w.template cast<T>();
  Vector y(costs_.rows());
  sweep([&](Index, Rows rows, const T* k) {
    for (Index i = rows.begin; i < rows.end; ++i)
      y[i] = loops_.dot_squares(k + (i - rows.begin) * n, weights.data(), n);
  });
  return y;
}

template <class T>
Matrix ScaledKernel<T>::times(const Matrix& y) const {
  ++counts_.products;
  if constexpr (std::is_same_v<T, double>)
    if (costs_.stored()) return linalg::multiply(kernel_, y);
  const Index n = costs_.columns();
  Matrix product(costs_.rows(), y.cols());
  const linalg::Threads alone(1);
  sweep([&](Index, Rows rows, const T* k) {
    for_parts(rows, most_, [&](Rows part) {
      const Index count = part.end - part.begin;
      const Eigen::Map<const RowMatrix<T>> block(k + (part.begin - rows.begin) * n, count, n);
      product.middleRows(part.begin, count) = linalg::multiply(block.template cast<double>(), y);
    });
  });
  return product;
}

template <class T>
Matrix ScaledKernel<T>::scaled(const Vector& left, const Vector& right) const {
  ++counts_.products;
  const Index n = costs_.columns();
  Matrix out(costs_.rows(), n);
  sweep([&](Index, Rows rows, const T* k) {
    for (Index i = rows.begin; i < rows.end; ++i) {
      const Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>> row(k + (i - rows.begin) * n, n);
      out.row(i) = left[i] * row.template cast<double>().cwiseProduct(right.transpose());
    }
  });
  return out;
}

template <class T>
RowMatrix<float> ScaledKernel<T>::rounded(const Vector& left, const Vector& right) const {
  ++counts_.products;
  const Index n = costs_.columns();
  RowMatrix<float> out(costs_.rows(), n);
  sweep([&](Index, Rows rows, const T* k) {
    for (Index i = rows.begin; i < rows.end; ++i)
      loops_.round_row(k + (i - rows.begin) * n, left[i], right.data(), out.row(i).data(), n);
  });
  return out;
}

template <class T>
void ScaledKernel<T>::keep_in_range() {
  // The largest entry of a row of K is about 1, so a is about p.
  if (in_safe_range<T>(a.cwiseQuotient(p_)) && in_safe_range<T>(b)) return;
  v_ = columns();
  rebuild();
}

template <class T>
Vector ScaledKernel<T>::columns() const {
  return v_.array() + b.array().log2();
}

template <class T>
void ScaledKernel<T>::set_columns(const Vector& potentials) {
  b = (potentials - v_).unaryExpr([](double x) { return std::exp2(x); });
  if (in_safe_range<T>(b)) return;
  v_ = potentials;
  rebuild();
}

template <class T>
double ScaledKernel<T>::dual() const {
  return p_.dot(u_ + a.array().log2().matrix()) + q_.dot(columns());
}

template <class T>
void ScaledKernel<T>::potentials(Vector& f, Vector& g) const {
  f = (u_.array() + a.array().log2()) / scale_ * costs_.unit();
  g = columns() / scale_ * costs_.unit();
}

template <class T>
double ScaledKernel<T>::measure(double lambda, const Vector& f, const Vector& g, Vector& rows,
                                Vector& columns) {
  const Index m = costs_.rows(), n = costs_.columns();
  scale_ = std::numbers::log2e / lambda * costs_.unit();
  u_ = f / costs_.unit() * scale_;
  v_ = g / costs_.unit() * scale_;
  a = Vector::Ones(m);
  b = Vector::Ones(n);
  rows.resize(m);
  Vector costs(m);
  ColumnSums<T> sums = column_sums();
  const Vector v = base_columns();
  sweep_costs([&](Index piece, Index i, const T* c, T* k) {
    rows[i] = loops_.exp2_row(c, v.data(), scale_, base_row(i), k, n);
    costs[i] = loops_.dot(k, c, n);
    sums.add(piece, k, 1, &a[i]);  // one
  });
  columns = sums.total();
  return costs_.unit() * (costs.sum() + costs_.alpha().dot(rows) + costs_.beta().dot(columns));
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_kernel(const Costs<T>& costs, const Vector& p, const Vector& q,
                                    int threads) {
  return std::make_unique<ScaledKernel<T>>(costs, p, q, threads);
}

template std::unique_ptr<Kernel> make_kernel(const Costs<double>&, const Vector&, const Vector&,
                                             int);
template std::unique_ptr<Kernel> make_kernel(const Costs<float>&, const Vector&, const Vector&,
                                             int);

}  // namespace remblai
