// Command-line flags: those made from the options of the library, and the few that the command line
// adds. Every refusal is an Error that names the flag.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remblai/options.h"
#include "remblai/predict.h"
#include "words.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace remblai::cli {

/// Headings of the help text.
namespace group {
inline constexpr const char* files = "Files";
inline constexpr const char* method = "Method";
inline constexpr const char* classes = "Class-aware method";
inline constexpr const char* prediction = "Prediction";
inline constexpr const char* running = "Running";
}  // namespace group

/// What `adapt` and `fit` need to begin.
struct FitArguments {
  std::string source, source_labels, source_weights;
  std::string target, target_labels, target_weights;
  std::string known_labels;  ///< of target points, to fit with
  /// Files with a matrix or shares, in place of what Options says.
  std::string metric, prior, target_shares;
  std::vector<std::string> skip;  ///< columns of points
  bool transpose = false;
  std::string checkpoint;  ///< file that keeps the state of the fit, or empty
  bool resume = false;     ///< go on from it
  bool dry_run = false;    ///< only say what it would take
  Options options;
};

/// The files named on the command line, each with its flag (without the dashes).
using Inputs = std::vector<std::pair<std::string, std::string>>;
Inputs inputs_of(const FitArguments& arguments);

struct RunArguments {
  bool quiet = false;
  bool json = false;
};

/// A flag that takes a path (or path:name). `type` is what the help shows: FILE or DIR.
CLI::Option* add_file(CLI::App& command, const std::string& flag, std::string& value,
                      const std::string& help, const std::string& type = "FILE");

CLI::Option* add_flag(CLI::App& command, const std::string& flag, bool& value,
                      const std::string& help, const char* heading);

/// One flag for every option of a fit, or for those named, and for every option of a prediction.
void add_options(CLI::App& command, FitArguments& arguments,
                 std::initializer_list<std::string_view> names = {});
void add_options(CLI::App& command, PredictOptions& options);

/// Neighbours are asked for by --rule nearest, or by saying how many or in which metric. Throws
/// Error when another rule is given beside that.
void settle_rule(const CLI::App& command, PredictOptions& options);

/// Only the options named. With `default_text` the help shows that in place of the library's
/// default.
void add_options(CLI::App& command, Options& options,
                 std::initializer_list<std::string_view> names);
void add_options(CLI::App& command, Resources& resources,
                 std::initializer_list<std::string_view> names,
                 const std::string& default_text = "");

/// A flag that takes a list with commas between its values, none of them twice. `default_text` is
/// what the help shows in place of an empty default.
void add_list(CLI::App& command, const std::string& flag, std::vector<double>& values,
              const std::string& help, const char* heading);
void add_list(CLI::App& command, const std::string& flag, std::vector<int>& values,
              const std::string& help, const char* heading, const std::string& default_text = "");
void add_list(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
              const std::string& help, const char* heading, const std::string& default_text = "");

/// A flag that takes a whole number.
void add_integer(CLI::App& command, const std::string& flag, int& value, const std::string& help,
                 const char* heading);

/// --known-labels FILE.
void add_known_labels(CLI::App& command, std::string& path);

/// --dry-run.
void add_dry_run(CLI::App& command, bool& dry_run);

/// --checkpoint FILE and --resume.
void add_checkpoint(CLI::App& command, FitArguments& arguments);

/// --overwrite: files that are in the way may be replaced.
void add_overwrite(CLI::App& command, bool& overwrite);

/// --report FILE.
void add_report_file(CLI::App& command, std::string& path);
void add_transpose(CLI::App& command, bool& transpose);
void add_skip(CLI::App& command, std::vector<std::string>& names);
void add_quiet(CLI::App& command, bool& quiet);
void add_json(CLI::App& command, bool& json);

/// --help, under the heading of the flags that only concern running. The last flag of a command.
void add_help(CLI::App& command);

/// Every long flag of a command, with its dashes.
std::vector<std::string> flags_of(const CLI::App& command);

}  // namespace remblai::cli
