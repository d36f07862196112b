// What a run did, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

struct Report {
  std::optional<double> target_accuracy;  ///< in [0, 1], when target labels are known
  std::optional<double> test_accuracy;    ///< in [0, 1], when test labels are known
  double seconds = 0;                     ///< the whole job
  std::vector<std::pair<std::string, std::string>> inputs =
      {};                  ///< what each file is, and its name
  bool propagate = false;  ///< labels came through the plan
};

/// The report as JSON: status, accuracy, lambda, lambda_absolute, ridge_absolute, objective,
/// transport_cost, marginal_error, duality_gap, riccati_residual, steps, seconds, inputs,
/// propagate, history, options, version. Numbers that are not finite become null, bytes of a file's
/// name that are not UTF-8 the replacement character.
REMBLAI_API std::string to_json(const Model& model, const Report& report);

/// A few lines for a terminal.
REMBLAI_API std::string summary(const Model& model, const Report& report);

}  // namespace remblai
