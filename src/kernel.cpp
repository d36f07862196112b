// Passes over the scaled plan. Each works on fixed pieces of rows; column sums of the pieces are
// added in a fixed order, so every number of threads gives the same bits.
#include "kernel.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "parallel.h"
#include "simd.h"

namespace remblai {
namespace {

// a and b may grow to 2^(+-300) before K is made anew. An entry of K is cut to 0 below 2^-1000, so
// an entry of the plan that was cut is below 2^-400.
constexpr double safe_log2 = 300;

// Below this many entries a pass is shorter than the start of a team of threads.
constexpr Index small_matrix = 100000;

bool in_safe_range(const Vector& x) {
  return x.maxCoeff() < std::exp2(safe_log2) && x.minCoeff() > std::exp2(-safe_log2);
}

// body(first row, number of rows: 4 or 1) over a piece.
template <class Body>
void by_fours(Rows rows, Body&& body) {
  Index i = rows.begin;
  for (; i + 4 <= rows.end; i += 4) body(i, 4);
  for (; i < rows.end; ++i) body(i, 1);
}

void dot_block(const Matrix& k, Index i, int count, const double* b, double* out) {
  if (count == 4) {
    simd::dot_rows4(k.row(i).data(), k.cols(), b, k.cols(), out);
  } else {
    out[0] = simd::dot(k.row(i).data(), b, k.cols());
  }
}

void add_block(const Matrix& k, Index i, int count, const double* a, double* t) {
  if (count == 4) {
    simd::add_rows4(k.row(i).data(), k.cols(), a, t, k.cols());
  } else {
    simd::add_row(k.row(i).data(), a[0], t, k.cols());
  }
}

}  // namespace

ScaledKernel::ScaledKernel(const Matrix& cost, const Vector& p, const Vector& q, int threads,
                           Matrix& storage)
    : cost_(cost),
      p_(p),
      q_(q),
      threads_(cost.size() < small_matrix ? 1 : threads),
      kernel_(storage) {
  kernel_.resize(cost.rows(), cost.cols());
}

void ScaledKernel::start(double lambda, const Vector& g) {
  scale_ = std::numbers::log2e / lambda;
  u_.resize(cost_.rows());
  v_ = g * scale_;
  rebuild();
}

// The largest entry of each row becomes 1, whatever the potentials were; then one Sinkhorn
// iteration. A column whose sum vanishes gets its potential from a log-sum of its own, and K is
// made once more.
void ScaledKernel::rebuild() {
  const Index n = cost_.cols();
  a.resize(cost_.rows());
  b = Vector::Ones(n);
  for (int attempt = 0; attempt < 3; ++attempt) {
    for_pieces(cost_.rows(), threads_, [&](Index, Rows rows) {
      for (Index i = rows.begin; i < rows.end; ++i) {
        const double* c = cost_.row(i).data();
        u_[i] = -simd::shifted_max(c, v_.data(), scale_, n);
        a[i] = p_[i] / simd::exp2_row(c, v_.data(), scale_, u_[i], kernel_.row(i).data(), n);
      }
    });
    ++counts_.exponentials;
    const Vector sums = transpose_times(a);
    b = q_.cwiseQuotient(sums);
    if (in_safe_range(b)) return;
    rescue_columns();
  }
}

void ScaledKernel::rescue_columns() {
  const Vector u = u_.array() + a.array().log2();
  for (Index j = 0; j < b.size(); ++j) {
    if (b[j] < std::exp2(safe_log2)) continue;
    const Vector exponent = u - scale_ * cost_.col(j);
    const double top = exponent.maxCoeff();
    const double sum =
        (exponent.array() - top).unaryExpr([](double x) { return std::exp2(x); }).sum();
    v_[j] = std::log2(q_[j]) - top - std::log2(sum);
  }
  ++counts_.exponentials;
}

double ScaledKernel::sinkhorn() {
  const Index n = cost_.cols();
  const Index pieces = piece_count(cost_.rows());
  Matrix parts = Matrix::Zero(pieces, n);
  Vector errors(pieces);
  for_pieces(cost_.rows(), threads_, [&](Index k, Rows rows) {
    double error = 0;
    by_fours(rows, [&](Index i, int count) {
      double sums[4];
      dot_block(kernel_, i, count, b.data(), sums);
      for (int l = 0; l < count; ++l) {
        error += std::abs(a[i + l] * sums[l] - p_[i + l]);
        a[i + l] = p_[i + l] / sums[l];
      }
      add_block(kernel_, i, count, a.data() + i, parts.row(k).data());
    });
    errors[k] = error;
  });
  b = q_.cwiseQuotient(add_up(parts));
  ++counts_.sinkhorn;
  return errors.sum();
}

void ScaledKernel::finish_rows() {
  a = p_.cwiseQuotient(times(b));
}

Vector ScaledKernel::times(const Vector& x) const {
  ++counts_.products;
  Vector y(cost_.rows());
  for_pieces(cost_.rows(), threads_, [&](Index, Rows rows) {
    by_fours(rows,
             [&](Index i, int count) { dot_block(kernel_, i, count, x.data(), y.data() + i); });
  });
  return y;
}

Vector ScaledKernel::transpose_times(const Vector& x) const {
  ++counts_.products;
  Matrix parts = Matrix::Zero(piece_count(cost_.rows()), cost_.cols());
  for_pieces(cost_.rows(), threads_, [&](Index k, Rows rows) {
    by_fours(rows, [&](Index i, int count) {
      add_block(kernel_, i, count, x.data() + i, parts.row(k).data());
    });
  });
  return add_up(parts);
}

Vector ScaledKernel::squares_times(const Vector& w) const {
  ++counts_.products;
  Vector y(cost_.rows());
  for_pieces(cost_.rows(), threads_, [&](Index, Rows rows) {
    for (Index i = rows.begin; i < rows.end; ++i)
      y[i] = simd::dot_squares(kernel_.row(i).data(), w.data(), cost_.cols());
  });
  return y;
}

Matrix ScaledKernel::scaled(const Vector& left, const Vector& right) const {
  ++counts_.products;
  Matrix out(cost_.rows(), cost_.cols());
  for_pieces(cost_.rows(), threads_, [&](Index, Rows rows) {
    for (Index i = rows.begin; i < rows.end; ++i)
      out.row(i) = left[i] * kernel_.row(i).cwiseProduct(right.transpose());
  });
  return out;
}

Vector ScaledKernel::add_up(const Matrix& parts) const {
  Vector sum = Vector::Zero(parts.cols());
  for (Index k = 0; k < parts.rows(); ++k) sum += parts.row(k).transpose();
  return sum;
}

void ScaledKernel::keep_in_range() {
  // The largest entry of a row of K is about 1, so a is about p.
  if (in_safe_range(a.cwiseQuotient(p_)) && in_safe_range(b)) return;
  v_.array() += b.array().log2();
  rebuild();
}

Vector ScaledKernel::columns() const {
  return v_.array() + b.array().log2();
}

void ScaledKernel::set_columns(const Vector& potentials) {
  b = (potentials - v_).unaryExpr([](double x) { return std::exp2(x); });
  if (in_safe_range(b)) return;
  v_ = potentials;
  rebuild();
}

double ScaledKernel::dual() const {
  return p_.dot(u_ + a.array().log2().matrix()) + q_.dot(columns());
}

void ScaledKernel::potentials(Vector& f, Vector& g) const {
  f = (u_.array() + a.array().log2()) / scale_;
  g = (v_.array() + b.array().log2()) / scale_;
}

double ScaledKernel::measure(double lambda, const Vector& f, const Vector& g, Vector& rows,
                             Vector& columns) {
  scale_ = std::numbers::log2e / lambda;
  u_ = f * scale_;
  v_ = g * scale_;
  rows.resize(cost_.rows());
  Vector costs(cost_.rows());
  for_pieces(cost_.rows(), threads_, [&](Index, Rows block) {
    for (Index i = block.begin; i < block.end; ++i) {
      const double* c = cost_.row(i).data();
      double* k = kernel_.row(i).data();
      rows[i] = simd::exp2_row(c, v_.data(), scale_, u_[i], k, cost_.cols());
      costs[i] = simd::dot(k, c, cost_.cols());
    }
  });
  a = Vector::Ones(cost_.rows());
  b = Vector::Ones(cost_.cols());
  columns = transpose_times(a);
  ++counts_.exponentials;
  return costs.sum();
}

}  // namespace remblai
