// Files of the command line: domains read from their arguments.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"
#include "remblai/domain.h"

namespace remblai::cli {

/// Of the columns to skip those that this file has: a table may have columns that another has not.
/// A number counts columns, and is meant for every file.
std::vector<std::string> skip_of(const std::string& spec, const std::vector<std::string>& skip);

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

/// The same for --source-labels, all of which are known: -1 is refused unless it is a class.
Labels load_source_labels(const std::string& spec, Index points);

/// The same for labels to score with, which need not be known. Where -1 is a class of the `source`,
/// all of them must be.
Labels load_target_labels(const std::string& spec, const std::string& flag, Index points,
                          const Labels& source);

/// The labels of all source points, where a rank has some of them.
Labels labels_of_source(const FitArguments& arguments, const Problem& problem);

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

}  // namespace remblai::cli
