// Class shares of the target by maximum likelihood under label shift.
#pragma once

#include "remblai/types.h"

namespace remblai {

struct EstimatedShares {
  Vector shares;    ///< h, sums to 1
  Matrix opinions;  ///< R, n x K: probabilities of the classes under these shares
};

/// R (see opinions_under) and h_k = (n sum_j q_j R_jk + prior_k)/(n + sum prior) in turn
/// (expectation maximisation; the likelihood never falls) until the shares move by less than 1e-7
/// in all, 300 times at most. `posterior` holds the probabilities under the shares of the source, n
/// x K; q its weights.
EstimatedShares estimate_shares(const Matrix& posterior, const Vector& q,
                                const Vector& source_shares, const Vector& prior);

}  // namespace remblai
