// Reading what the flags name. Everything that can be refused is refused here, before the fit
// starts.
#include "files.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "ranks.h"
#include "remblai/error.h"
#include "remblai/evaluate.h"
#include "remblai/io.h"

namespace remblai::cli {
namespace {

void add_skipped(const std::string& spec, const std::vector<std::string>& skip,
                 std::vector<std::string>& other) {
  const std::string path = io::parse_spec(spec).path;
  for (const std::string& name : skip) other.push_back(path + ":" + name);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What of the source is left out of its points, and what of the target. Of columns that only one of
// the two files has, the other one has nothing to skip; what neither has is asked of the source,
// whose reader says what there is.
std::vector<std::string> source_skip(const FitArguments& arguments) {
  std::vector<std::string> skip = skip_of(arguments.source, arguments.skip);
  const std::vector<std::string> elsewhere = skip_of(arguments.target, arguments.skip);
  for (const std::string& name : arguments.skip)
    if (!contains(skip, name) && !contains(elsewhere, name)) skip.push_back(name);
  return skip;
}

std::vector<std::string> source_columns(const FitArguments& arguments) {
  return {arguments.source_labels, arguments.source_weights};
}

std::vector<std::string> target_columns(const FitArguments& arguments) {
  return {arguments.target_labels, arguments.target_weights, arguments.known_labels};
}

Domain load_domain(const std::string& name, const std::string& points, const std::string& weights,
                   bool transpose, const std::vector<std::string>& skip,
                   const std::vector<std::string>& other) {
  Domain domain;
  domain.points = load_points(points, transpose, skip, other);
  if (!weights.empty()) domain.weights = io::read_vector(weights);
  domain.validate(name);
  return domain;
}

// The rows of the source that this rank takes: its share of the points of positive weight, and what
// stands between them and those of the next.
io::RowRange share_of_rank(Index total, const Vector& weights) {
  const std::vector<Index> used =
      positive_entries(weights.size() > 0 ? Domain{Matrix(total, 0), {}, weights}.probabilities()
                                          : Vector::Ones(total));
  const auto count = static_cast<Index>(used.size());
  const int rank = ranks()->rank(), size = ranks()->size();
  const auto [first, last] = share_of(count, rank, size);
  const auto place = [&](Index k) {
    return k == 0 ? 0 : k == count ? total : used[static_cast<std::size_t>(k)];
  };
  return {place(first), place(last) - place(first)};
}

// The parts of a text file, each looked at by one rank. None for other files, and where quotes may
// hide the ends of lines.
std::vector<io::TextPart> parts_of_text(const FitArguments& arguments) {
  const int count = ranks()->size();
  std::optional<io::TextPart> own;
  agree(ranks().get(), [&] {
    own = io::look_at_part(arguments.source, arguments.transpose, ranks()->rank(), count);
  });
  if (!own) return {};
  const Vector all =
      ranks()->gather(Vector{{static_cast<double>(own->byte), static_cast<double>(own->points),
                              static_cast<double>(own->lines), own->quotes ? 1.0 : 0.0}},
                      std::vector<Index>(static_cast<std::size_t>(count), 4));
  std::vector<io::TextPart> parts;
  for (Index k = 0; k < count; ++k) {
    const auto number = [&](Index i) { return static_cast<Index>(all[4 * k + i]); };
    if (number(3) != 0) return {};
    parts.push_back({number(0), number(1), number(2), false});
  }
  return parts;
}

// The last part that begins before these rows.
void begin_near(io::RowRange& rows, const std::vector<io::TextPart>& parts) {
  Index points = 0, lines = 0;
  for (const io::TextPart& part : parts) {
    if (points > rows.first) return;
    if (part.byte > 0) {
      rows.byte = part.byte;
      rows.points_before = points;
      rows.lines_before = lines;
    }
    points += part.points;
    lines += part.lines;
  }
}

// The source, of which each of several ranks reads its own rows. Labels and weights are a number a
// row, and read whole.
Domain load_source(const FitArguments& arguments) {
  const std::string &labels = arguments.source_labels, &weights = arguments.source_weights;
  std::vector<std::string> other = source_columns(arguments);
  add_skipped(arguments.source, source_skip(arguments), other);
  const std::vector<io::TextPart> parts = parts_of_text(arguments);
  const Index total =
      parts.empty()
          ? io::count_points(arguments.source, arguments.transpose, other)
          : std::accumulate(parts.begin(), parts.end(), Index{0},
                            [](Index sum, const io::TextPart& part) { return sum + part.points; });
  Domain domain;
  if (!weights.empty()) domain.weights = io::read_vector(weights);
  if (!labels.empty()) domain.labels = load_source_labels(labels, total);
  domain.points = Matrix::Zero(total, 1);
  domain.validate("source");
  io::RowRange rows = share_of_rank(total, domain.weights);
  begin_near(rows, parts);
  domain.points = io::read_points(arguments.source, arguments.transpose, other, rows);
  if (!weights.empty()) domain.weights = Vector(domain.weights.segment(rows.first, rows.count));
  if (!labels.empty()) domain.labels = Labels(domain.labels.segment(rows.first, rows.count));
  return domain;
}

Matrix load_square(const std::string& flag, const std::string& spec, Index dimension) {
  Matrix matrix = io::read_points(spec);
  if (matrix.rows() != dimension || matrix.cols() != dimension) {
    throw Error({.field = flag,
                 .value = spec,
                 .problem = fmt::format("holds a matrix that is {} x {}, the points have {} "
                                        "coordinates",
                                        matrix.rows(), matrix.cols(), dimension),
                 .remedy = fmt::format("give a {} x {} matrix", dimension, dimension)});
  }
  return matrix;
}

void require_columns(const std::string& flag, Index count, std::vector<std::string> names,
                     const Columns& columns) {
  if (count != columns.count)
    throw Error({.field = flag,
                 .problem = fmt::format("the points have {} coordinates, but those of {} have {}",
                                        count, columns.flag, columns.count),
                 .remedy =
                     "both need the same (--transpose if points are columns; a column of a "
                     ".csv is left out when --skip names it, or the flag of labels or weights "
                     "as FILE:COLUMN)"});
  std::vector<std::string> known = columns.names;
  const auto differ = std::mismatch(names.begin(), names.end(), known.begin(), known.end());
  if (names.empty() || known.empty() || differ.first == names.end()) return;
  const std::string here = *differ.first, there = *differ.second;
  std::sort(names.begin(), names.end());
  std::sort(known.begin(), known.end());
  if (names == known)
    throw Error({.field = flag,
                 .problem = literal(fmt::format("its columns stand in another order than those of "
                                                "{} ('{}' where that has '{}')",
                                                columns.flag, here, there)),
                 .remedy = "columns go by place, so put them in the same order"});
}

// `blank` says which lines of a table are no labels, and what else to know where some are missing.
void require_labels(const Labels& labels, const std::string& spec, const std::string& flag,
                    Index points, const char* blank = "; blank lines of a .csv are none") {
  if (labels.size() == points) return;
  const bool turned = points == 1 || labels.size() == 1;
  throw Error({.field = flag,
               .value = spec + ":",
               .problem = fmt::format("{} labels for {} points", labels.size(), points),
               .remedy = fmt::format("give one label a point{}{}",
                                     turned ? " (--transpose if the points are columns)" : "",
                                     labels.size() < points ? blank : "")});
}

}  // namespace

std::vector<std::string> skip_of(const std::string& spec, const std::vector<std::string>& skip) {
  if (skip.empty()) return {};
  const std::vector<std::string> names = io::read_names(io::parse_spec(spec).path);
  if (names.empty()) return skip;
  std::vector<std::string> here;
  for (const std::string& name : skip)
    if (name.find_first_not_of("-0123456789") == std::string::npos || contains(names, name))
      here.push_back(name);
  return here;
}

Matrix load_points(const std::string& spec, bool transpose, const std::vector<std::string>& skip,
                   std::vector<std::string> other) {
  add_skipped(spec, skip, other);
  return io::read_points(spec, transpose, other);
}

std::vector<std::string> load_names(const std::string& spec, bool transpose,
                                    const std::vector<std::string>& skip,
                                    std::vector<std::string> other) {
  if (transpose) return {};
  add_skipped(spec, skip, other);
  return io::read_names(spec, other);
}

Labels load_labels(const std::string& spec, const std::string& flag, Index points) {
  Labels labels = io::read_labels(spec);
  require_labels(labels, spec, flag, points);
  return labels;
}

Labels load_source_labels(const std::string& spec, Index points) {
  Labels labels = load_labels(spec, "--source-labels", points);
  if ((labels.array() == unknown_label).any() && !minus_one_is_class(labels))
    throw Error({.field = "--source-labels",
                 .value = spec + ":",
                 .problem = "-1 marks a label that is not known, and every source point needs one",
                 .remedy = "leave these points out, or number the classes from 0"});
  return labels;
}

Labels load_target_labels(const std::string& spec, const std::string& flag, Index points,
                          const Labels& source) {
  Labels labels = io::read_target_labels(spec);
  require_labels(labels, spec, flag, points,
                 ", -1 where it is not known; blank lines at the end of a .csv are none");
  if (!minus_one_is_class(source)) return labels;
  try {
    return io::read_labels(spec);  // an entry that is missing has become -1 above
  } catch (const Error& missing) {
    throw Error({.field = flag,
                 .problem = missing.message().problem,
                 .remedy = "-1 is a class here, beside 1 alone, so that every label must be known: "
                           "number the classes 0 and 1 where some are not"});
  }
}

Labels labels_of_source(const FitArguments& arguments, const Problem& problem) {
  return several_ranks() && !arguments.source_labels.empty()
             ? io::read_labels(arguments.source_labels)
             : problem.source.labels;
}

Matrix load_points_like(const Columns& columns, const std::string& flag, const std::string& spec,
                        bool transpose, const std::vector<std::string>& skip,
                        const std::vector<std::string>& other) {
  Matrix points = load_points(spec, transpose, skip, other);
  require_columns(flag, points.cols(), load_names(spec, transpose, skip, other), columns);
  return points;
}

Problem load_problem(const FitArguments& arguments) {
  arguments.options.validate();
  Problem problem;
  if (ranks()) {
    problem.source = load_source(arguments);
  } else {
    problem.source =
        load_domain("source", arguments.source, arguments.source_weights, arguments.transpose,
                    source_skip(arguments), source_columns(arguments));
    if (!arguments.source_labels.empty()) {
      problem.source.labels = load_source_labels(arguments.source_labels, problem.source.size());
    }
  }
  const std::vector<std::string> skip = skip_of(arguments.target, arguments.skip);
  problem.target = load_domain("target", arguments.target, arguments.target_weights,
                               arguments.transpose, skip, target_columns(arguments));
  if (!arguments.known_labels.empty()) {
    problem.known_labels =
        load_target_labels(arguments.known_labels, "--known-labels", problem.target.size(), {});
    if (minus_one_is_class(labels_of_source(arguments, problem)))
      throw Error({.field = "--known-labels",
                   .problem = "-1 is a class of the source, beside 1 alone, and marks labels here "
                              "that are not known",
                   .remedy = "number the classes 0 and 1"});
  }
  const Index dimension = problem.source.dimension();
  problem.features = load_names(arguments.source, arguments.transpose, source_skip(arguments),
                                source_columns(arguments));
  std::vector<std::string> names =
      load_names(arguments.target, arguments.transpose, skip, target_columns(arguments));
  require_columns("--target", problem.target.dimension(), names,
                  {"--source", dimension, problem.features});
  if (problem.features.empty()) problem.features = std::move(names);
  return problem;
}

Options load_options(const FitArguments& arguments, const Problem& problem) {
  Options options = arguments.options;
  options.resources.comm = ranks();
  const Index dimension = problem.source.dimension();
  if (!arguments.metric.empty())
    options.metric = load_square("--metric", arguments.metric, dimension);
  if (!arguments.target_shares.empty()) {
    const Matrix shares = load_points(arguments.target_shares, false, {});
    options.classes.target_shares = Matrix(shares.reshaped<Eigen::RowMajor>().transpose());
  }
  if (!arguments.prior.empty()) options.prior = load_square("--prior", arguments.prior, dimension);
  return options;
}

}  // namespace remblai::cli
