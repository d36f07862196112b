// The report of a run, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "remblai/api.h"
#include "remblai/error.h"
#include "remblai/evaluate.h"
#include "remblai/model.h"
#include "remblai/predict.h"

namespace remblai {

/// What a report says beside what the model knows.
struct Report {
  std::optional<Score> target_score = {};  ///< when target labels were given
  std::optional<Score> test_score = {};    ///< when test labels were given
  double seconds = 0;                      ///< the whole job
  std::vector<std::pair<std::string, std::string>> inputs =
      {};                               ///< what each file is, and its name
  std::vector<std::string> files = {};  ///< that the run wrote beside the report, where it did
  PredictOptions prediction = {};       ///< how labels were made
  Spelling spelling = {};               ///< of options in sentences; empty: in the words of C++
};

/// The report as JSON. Its entries are status, status_reason, warnings (diagnosis.h), accuracy
/// (null where no label was known), scored, lambda, lambda_absolute, ridge_absolute, objective,
/// transport_cost, marginal_error, duality_gap, riccati_residual, fixed_point_residual, steps,
/// seconds, source_points, target_points, dimension, rank, inputs, files (that the run wrote, where
/// it did), prediction, classes (of a class-aware model), history, options and version. Numbers
/// that are not finite become null. Bytes of a file's name that are not UTF-8 become the
/// replacement character.
REMBLAI_API std::string to_json(const Model& model, const Report& report);

/// The report as a few lines for a terminal.
REMBLAI_API std::string summary(const Model& model, const Report& report);

}  // namespace remblai
