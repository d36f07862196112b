// The least-squares problem behind the mixing, by its normal equations.
#include "transport/anderson.h"

#include "base/linalg.h"

namespace remblai {

void Anderson::clear() {
  values_.clear();
  residuals_.clear();
}

Vector Anderson::next(const Vector& y, const Vector& t) {
  values_.push_back(t);
  residuals_.push_back(t - y);
  if (values_.size() > memory_ + 1) {
    values_.pop_front();
    residuals_.pop_front();
  }
  const Index k = static_cast<Index>(values_.size()) - 1;
  if (k == 0) return t;
  // min |r - sum_i w_i (r - r_i)| over w, a little regularised.
  Matrix differences(k, t.size());
  for (Index i = 0; i < k; ++i)
    differences.row(i) = residuals_.back() - residuals_[static_cast<std::size_t>(i)];
  Matrix normal = linalg::gram_of_rows(differences);
  normal.diagonal().array() += 1e-10 * normal.trace();
  Matrix lower;
  if (!linalg::cholesky(normal, lower)) return t;
  const Matrix right = differences * residuals_.back();
  const Matrix w =
      linalg::solve_lower(lower, linalg::solve_lower(lower, right), linalg::Op::transpose);
  Vector mixed = t;
  for (Index i = 0; i < k; ++i) mixed += w(i, 0) * (values_[static_cast<std::size_t>(i)] - t);
  return mixed;
}

}  // namespace remblai
