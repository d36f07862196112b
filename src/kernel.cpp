// Passes over the scaled plan. Each works on fixed pieces of rows; column sums of the pieces are
// added in a fixed order, so every number of threads gives the same bits.
#include "kernel.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "linalg.h"
#include "parallel.h"
#include "simd.h"

namespace remblai {
namespace {

// a and b may grow to 2^(+-safe_log2) before K is made anew. In double an entry of K is cut to 0
// below 2^-1000, so an entry of the plan that was cut is below 2^-400; in float 2^-125 and 2^-45.
template <class T>
constexpr double safe_log2 = std::is_same_v<T, double> ? 300 : 40;

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

// Products with rows that are all there: y = K x,
template <class T>
void multiply(const RowMatrix<T>& k, const Column<T>& x, int threads, double* y) {
  for_pieces(k.rows(), threads, [&](Index, Rows rows) {
    by_fours(rows, [&](Index i, int count) { dot_block(k.row(i).data(), count, x, y + i); });
  });
}

// sums += K' x,
template <class T>
void multiply_transpose(const RowMatrix<T>& k, const double* x, int threads, ColumnSums<T>& sums) {
  for_pieces(k.rows(), threads, [&](Index piece, Rows rows) {
    by_fours(rows, [&](Index i, int count) { sums.add(piece, k.row(i).data(), count, x + i); });
  });
}

// y_i = sum_j k_ij^2 w_j.
template <class T>
void multiply_squares(const RowMatrix<T>& k, const Column<T>& w, int threads, double* y) {
  for_pieces(k.rows(), threads, [&](Index, Rows rows) {
    for (Index i = rows.begin; i < rows.end; ++i)
      y[i] = simd::loops<T>().dot_squares(k.row(i).data(), w.data(), k.cols());
  });
}

template <class T>
class ScaledKernel final : public Kernel {
 public:
  ScaledKernel(const Costs<T>& costs, const Vector& p, const Vector& q, int threads);

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
  void rescue_columns();
  template <class Body>
  void for_blocks(Body&& body) const;
  template <class Body>
  void sweep(Body&& body) const;
  template <class Body>
  void sweep_costs(Body&& body);
  ColumnSums<T> column_sums() const;

  const simd::Loops<T>& loops_ = simd::loops<T>();
  const Costs<T>& costs_;
  const Vector& p_;
  const Vector& q_;
  int threads_;
  RowMatrix<T> kernel_;  // K; empty when it is not stored
  double scale_ = 0;     // s
  Vector u_, v_;         // base 2
};

template <class T>
ScaledKernel<T>::ScaledKernel(const Costs<T>& costs, const Vector& p, const Vector& q, int threads)
    : costs_(costs),
      p_(p),
      q_(q),
      threads_(costs.rows() * costs.columns() < small_matrix ? 1 : threads) {
  if (costs.stored()) kernel_.resize(costs.rows(), costs.columns());
}

// body(first row, K of a block of rows): everything at once when it is stored.
template <class T>
template <class Body>
void ScaledKernel<T>::for_blocks(Body&& body) const {
  if (costs_.stored()) {
    body(Index{0}, kernel_);
    return;
  }
  RowMatrix<T> block;
  for (Index first = 0; first < costs_.rows(); first += costs_.block()) {
    costs_.rows({first, std::min(first + costs_.block(), costs_.rows())}, threads_, block);
    for_pieces(block.rows(), threads_, [&](Index, Rows rows) {
      for (Index i = rows.begin; i < rows.end; ++i) {
        T* row = block.row(i).data();
        loops_.exp2_row(row, v_.data(), scale_, u_[first + i], row, block.cols());
      }
    });
    body(first, block);
  }
}

// body(piece, rows, K of the first of them). A piece is always visited in the order of its rows,
// and never by two threads at a time.
template <class T>
template <class Body>
void ScaledKernel<T>::sweep(Body&& body) const {
  for_blocks([&](Index first, const RowMatrix<T>& block) {
    for_pieces(block.rows(), threads_, [&](Index piece, Rows rows) {
      body(piece, Rows{first + rows.begin, first + rows.end}, block.row(rows.begin).data());
    });
  });
}

// body(piece, row, its costs, where its entries of K belong).
template <class T>
template <class Body>
void ScaledKernel<T>::sweep_costs(Body&& body) {
  const Index m = costs_.rows(), n = costs_.columns();
  RowMatrix<T> scratch;
  for (Index first = 0; first < m; first += costs_.block()) {
    const Index count = std::min(costs_.block(), m - first);
    const T* c = costs_.rows({first, first + count}, threads_, scratch);
    for_pieces(count, threads_, [&](Index piece, Rows rows) {
      Column<T> row(costs_.stored() ? 0 : n);
      for (Index i = rows.begin; i < rows.end; ++i)
        body(piece, first + i, c + i * n,
             costs_.stored() ? kernel_.row(first + i).data() : row.data());
    });
  }
  ++counts_.exponentials;
}

template <class T>
ColumnSums<T> ScaledKernel<T>::column_sums() const {
  return {piece_count(std::min(costs_.block(), costs_.rows())), costs_.columns()};
}

template <class T>
void ScaledKernel<T>::start(double lambda, const Vector& g) {
  scale_ = std::numbers::log2e / lambda;
  u_.resize(costs_.rows());
  v_ = g * scale_;
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
    sweep_costs([&](Index piece, Index i, const T* c, T* k) {
      u_[i] = -loops_.shifted_max(c, v_.data(), scale_, n);
      a[i] = p_[i] / loops_.exp2_row(c, v_.data(), scale_, u_[i], k, n);
      sums.add(piece, k, 1, &a[i]);
    });
    b = q_.cwiseQuotient(sums.total());
    if (in_safe_range<T>(b)) return;
    rescue_columns();
  }
}

template <class T>
void ScaledKernel<T>::rescue_columns() {
  const Vector u = u_.array() + a.array().log2();
  for (Index j = 0; j < b.size(); ++j) {
    if (b[j] < std::exp2(safe_log2<T>)) continue;
    const Vector exponent = u - scale_ * costs_.column(j);
    const double top = exponent.maxCoeff();
    const double sum =
        (exponent.array() - top).unaryExpr([](double x) { return std::exp2(x); }).sum();
    v_[j] = std::log2(q_[j]) - top - std::log2(sum);
  }
  ++counts_.exponentials;
}

template <class T>
double ScaledKernel<T>::sinkhorn() {
  const Index n = costs_.columns();
  const Column<T> x = b.template cast<T>();
  ColumnSums<T> sums = column_sums();
  Vector errors = Vector::Zero(piece_count(std::min(costs_.block(), costs_.rows())));
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
  const Column<T> entries = x.template cast<T>();
  Vector y(costs_.rows());
  for_blocks([&](Index first, const RowMatrix<T>& block) {
    multiply(block, entries, threads_, y.data() + first);
  });
  return y;
}

template <class T>
Vector ScaledKernel<T>::transpose_times(const Vector& x) const {
  ++counts_.products;
  ColumnSums<T> sums = column_sums();
  for_blocks([&](Index first, const RowMatrix<T>& block) {
    multiply_transpose(block, x.data() + first, threads_, sums);
  });
  return sums.total();
}

template <class T>
Vector ScaledKernel<T>::squares_times(const Vector& w) const {
  ++counts_.products;
  const Column<T> weights = w.template cast<T>();
  Vector y(costs_.rows());
  for_blocks([&](Index first, const RowMatrix<T>& block) {
    multiply_squares(block, weights, threads_, y.data() + first);
  });
  return y;
}

template <class T>
Matrix ScaledKernel<T>::times(const Matrix& y) const {
  ++counts_.products;
  Matrix product(costs_.rows(), y.cols());
  for_blocks([&](Index first, const RowMatrix<T>& block) {
    if constexpr (std::is_same_v<T, double>)
      product.middleRows(first, block.rows()) = linalg::multiply(block, y);
    else
      product.middleRows(first, block.rows()) = linalg::multiply(block.template cast<double>(), y);
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
  f = (u_.array() + a.array().log2()) / scale_;
  g = columns() / scale_;
}

template <class T>
double ScaledKernel<T>::measure(double lambda, const Vector& f, const Vector& g, Vector& rows,
                                Vector& columns) {
  const Index m = costs_.rows(), n = costs_.columns();
  scale_ = std::numbers::log2e / lambda;
  u_ = f * scale_;
  v_ = g * scale_;
  a = Vector::Ones(m);
  b = Vector::Ones(n);
  rows.resize(m);
  Vector costs(m);
  ColumnSums<T> sums = column_sums();
  sweep_costs([&](Index piece, Index i, const T* c, T* k) {
    rows[i] = loops_.exp2_row(c, v_.data(), scale_, u_[i], k, n);
    costs[i] = loops_.dot(k, c, n);
    sums.add(piece, k, 1, &a[i]);  // one
  });
  columns = sums.total();
  return costs.sum();
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
