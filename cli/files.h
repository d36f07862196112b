// Files of the command line: domains read from their arguments, and results that appear all or not
// at all.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"
#include "remblai/domain.h"

namespace remblai::cli {

/// Points of `spec` without the columns called `skip`, and without those that `other` specs
/// (labels, weights) take from the same file.
Matrix load_points(const std::string& spec, bool transpose, const std::vector<std::string>& skip,
                   std::vector<std::string> other = {});

/// The names of the same columns, where the file has any.
std::vector<std::string> load_names(const std::string& spec, bool transpose,
                                    const std::vector<std::string>& skip,
                                    std::vector<std::string> other = {});

/// Labels of `spec`, one for each of `points` points. `flag` is how the user calls them.
Labels load_labels(const std::string& spec, const std::string& flag, Index points);

/// The same for labels to score with, which need not be known.
Labels load_target_labels(const std::string& spec, const std::string& flag, Index points);

/// Both domains, checked against each other. Target labels stay out: they are there to score with.
Problem load_problem(const FitArguments& arguments);

/// The options of the fit, with the matrices of --metric and --prior where these are files.
Options load_options(const FitArguments& arguments, const Problem& problem);

/// What the columns of further points must be.
struct Columns {
  std::string flag;  ///< of the points that have them
  Index count = 0;
  std::vector<std::string> names;  ///< or empty
};

/// load_points, for points of the same columns as others. Throws Error when their number differs,
/// or when they have the same names in another order.
Matrix load_points_like(const Columns& columns, const std::string& flag, const std::string& spec,
                        bool transpose, const std::vector<std::string>& skip,
                        const std::vector<std::string>& other = {});

/// Throws Error unless a file of that name, with that extension, could be written.
void require_writable(const std::string& path, const std::string& extension,
                      const std::string& flag = "--out");

/// The same for a page (.html), which may not be one of the inputs either.
void require_page(const std::string& path, const Inputs& inputs, const std::string& flag);

/// A folder of results. Files are written aside and moved into place together; until then the
/// folder shows nothing of them, and if they never are, a folder that was made for them goes away
/// again. report.json marks a folder of results.
class OutputFolder {
 public:
  /// Makes the folder, and its parents, where needed. `names` are all the files that may be
  /// written. Throws Error when the folder cannot be written to or one of the names is taken by a
  /// folder.
  OutputFolder(const std::string& path, std::vector<std::string> names);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Where to write the result called `name`.
  std::string file(const std::string& name) const;

  /// Moves everything that was written into place and removes what an earlier run left under the
  /// other names, but none of the `inputs` of this one. The names written, in order.
  std::vector<std::string> publish(const Inputs& inputs);

 private:
  void discard() noexcept;

  std::string path_;
  std::string aside_;                 // inside path_, so that moving is renaming
  std::vector<std::string> created_;  // folders made, outermost first
  std::vector<std::string> names_;
};

}  // namespace remblai::cli
