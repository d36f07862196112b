// Expectation maximisation.
#include "fit/class_shares.h"

#include "model/class_terms.h"

namespace remblai {

EstimatedShares estimate_shares(const Matrix& posterior, const Vector& q,
                                const Vector& source_shares, const Vector& prior) {
  const auto n = static_cast<double>(posterior.rows());
  Vector shares = source_shares;
  for (int step = 0; step < 300; ++step) {
    const Vector found = n * (opinions_under(posterior, source_shares, shares).transpose() * q);
    const Vector next = (found + prior) / (n + prior.sum());
    const double change = (next - shares).lpNorm<1>();
    shares = next;
    if (change < 1e-7) break;
  }
  return {shares, opinions_under(posterior, source_shares, shares)};
}

}  // namespace remblai
