// Options as Python keywords: made from the option list of the library, so that no name, default or
// help text is repeated.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>

#include "remblai/error.h"
#include "remblai/options.h"
#include "remblai/predict.h"

namespace remblai::python {

namespace nb = nanobind;

/// The keyword of an option or input: dashes become underscores, and `lambda`, a word of the
/// language, becomes `lambda_`. Other names are left as they are.
std::string keyword(std::string_view name);

/// How a caller spells what keyword() gives: {"lambda_": "reg_e"}; what is not there stays.
using Names = std::map<std::string, std::string>;

/// A message of the library in the words of Python: a field by its keyword, options in sentences in
/// quotes, as 'outer_tolerance'.
std::string text_of(const Message& message, const Names& names = {});

/// The spelling of options in sentences, for what the library writes itself.
Spelling in_sentences(const Names& names = {});

/// Raises remblai._calls.Refused, a ValueError that carries the parts of the message; where the
/// system refused a file, an OSError of its kind.
void raise_refused(const Message& message);

/// Options from keywords; what is not given, or None, keeps its default. Throws Error for a value
/// of the wrong type, and raises TypeError for a keyword that does not exist, naming the nearest.
Options options_from(const nb::dict& keywords);

/// The same. An option of the nearest-neighbour rule asks for this rule; Error where another was
/// given.
PredictOptions prediction_from(const nb::dict& keywords);

/// Every option as keyword -> value, with nothing left to the method; a matrix in place of a choice
/// is "given".
nb::dict to_dict(const Options& options);

/// One dict an option: name, default (None where it is left to the method), choices (a tuple, or
/// None) and help.
nb::list describe_options();     ///< of a fit
nb::list describe_prediction();  ///< of a prediction

/// The value of an enum by its name. Throws Error with the names there are.
SolverChoice solver_from(const std::string& name);
Precision precision_from(const std::string& name);
Device device_from(const std::string& name);

}  // namespace remblai::python
