// Classifiers of the source alone, to set beside an adaptation: what a user gets without one.
#pragma once

#include <array>
#include <string_view>

#include "remblai/api.h"
#include "remblai/domain.h"
#include "remblai/options.h"

namespace remblai {

/// nearest: the label of the nearest source point. logistic: multinomial logistic regression with
/// the penalty |W|^2/2. kernel_ridge: the classifier of the class-aware method, Euclidean and
/// without adaptation. kernel_ridge_shares: the same, its probabilities turned by class shares that
/// are estimated on the target (label shift, maximum likelihood).
enum class Baseline { nearest, logistic, kernel_ridge, kernel_ridge_shares };
constexpr std::array<std::string_view, 4> names(Baseline) {
  return {"none", "logistic", "kernel-ridge", "kernel-ridge-shares"};
}

/// Labels of `points`. Target points are looked at without labels: for the preprocessing, for the
/// unit of the kernel's width, and for the shares. Only preprocessing, class options and resources
/// of `options` are read, and `neighbours` by nearest alone. Throws Error when the source has no
/// labels.
REMBLAI_API Labels baseline_labels(Baseline baseline, const Problem& problem,
                                   const MatrixView& points, const Options& options = {},
                                   int neighbours = 1);

}  // namespace remblai
