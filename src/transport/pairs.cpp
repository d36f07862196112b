// |a|^2 + |b|^2 - 2 a b', the last term by BLAS.
#include "transport/pairs.h"

#include "base/linalg.h"

namespace remblai {

void squared_distances(const Matrix& a, const Matrix& b, Matrix& out) {
  out.resize(a.rows(), b.rows());
  linalg::gemm(linalg::Op::none, a, linalg::Op::transpose, b, -2, 0, out);
  const Vector a2 = a.rowwise().squaredNorm();
  const Eigen::RowVectorXd b2 = b.rowwise().squaredNorm().transpose();
  for (Index i = 0; i < out.rows(); ++i)
    out.row(i) = ((out.row(i) + b2).array() + a2[i]).cwiseMax(0);
}

}  // namespace remblai
