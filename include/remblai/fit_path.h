// Many fits of one problem that differ in lambda, ridge, prior or metric, for the price of far
// fewer.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "remblai/api.h"
#include "remblai/fit.h"
#include "remblai/predict.h"

namespace remblai {

/// Fits one after another, which share the span of the data, the first metric and the memory of the
/// plans, and whose first plan starts from that of the fit before. Each fit is the one that `fit`
/// would make, up to the tolerances. A path from large to small lambda is the cheapest order.
class REMBLAI_API FitPath {
 public:
  /// `options` say how points are preprocessed and where the work is done. `points` are more points
  /// of the target domain, to be labelled along with the target points of the problem; they take no
  /// part in the fits. Throws Error on input that cannot be used.
  FitPath(const Problem& problem, const Options& options, const MatrixView& points = Matrix());
  ~FitPath();
  FitPath(FitPath&&) noexcept;
  FitPath& operator=(FitPath&&) noexcept;

  /// One fit. Preprocessing and resources stay those of the path; they are not read.
  void fit(const Options& options, const Callback& callback = {});

  // The last fit.
  const std::vector<Step>& history() const;
  const Status& status() const;

  /// Labels of the target points, then of the further points: what `predict` says of the model of
  /// this fit. The source points of the problem have labels.
  Labels labels(const PredictOptions& options = {}) const;

  /// The model of this fit. Its last step lacks what costs as much as a metric step to judge: the
  /// residuals, the condition and the change of the metric.
  Model model() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Makes every fit of the grid in turn and shows each; `visit` returns false to end the path.
REMBLAI_API void fit_path(const Problem& problem, std::span<const Options> grid,
                          const std::function<bool(std::size_t place, const FitPath& fit)>& visit,
                          const MatrixView& points = Matrix());

}  // namespace remblai
