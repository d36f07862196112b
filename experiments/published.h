// The accuracies that the paper prints, in percent.
#pragma once

#include <optional>
#include <string>

namespace remblai::experiments {

/// `row` is a skew ("10" to "50"); `method` a key of the method list. Nothing where the paper has
/// none.
std::optional<double> published_mnist(const std::string& row, const std::string& method);

/// `row` is a task ("A-C") or "average"; DeCAF6 features.
std::optional<double> published_office_caltech(const std::string& row, const std::string& method);

}  // namespace remblai::experiments
