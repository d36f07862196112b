// Options as Python keywords: made from the option list of the library, so that no name, default or
// help text is repeated.
#pragma once

#include <nanobind/nanobind.h>

#include "remblai/options.h"
#include "remblai/predict.h"

namespace remblai::python {

namespace nb = nanobind;

/// The keyword of an option: dashes become underscores, and `lambda`, a word of the language,
/// becomes `lambda_`.
std::string keyword(std::string_view option);

/// A message of the library with its options as keywords: --outer-tolerance is 'outer_tolerance'.
std::string with_keywords(const std::string& message);

/// Options from keywords; what is not given keeps its default. Error for a value of the wrong type,
/// and for a keyword that does not exist (the package has named the nearest one before).
Options options_from(const nb::dict& keywords);
PredictOptions prediction_from(const nb::dict& keywords);

/// Every option as keyword -> value; a matrix in place of a choice is "given".
nb::dict to_dict(const Options& options);

/// One dict an option: name, default, choices (a tuple, or None) and help.
nb::list describe_options();     ///< of a fit
nb::list describe_prediction();  ///< of a prediction

/// The value of an enum by its name. Throws Error with the names there are.
SolverChoice solver_from(const std::string& name);
Precision precision_from(const std::string& name);

}  // namespace remblai::python
