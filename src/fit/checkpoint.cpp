// Checkpoints as .npz files, written by the one writer: aside, brought to the disk, then renamed.
#include "fit/checkpoint.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/version.h"
#include "report/json.h"

namespace remblai {
namespace {

constexpr std::int64_t checkpoint_version = 2;

// Behind the fingerprint of a run of several processes.
constexpr const char* of_ranks = " of ranks";

/// FNV-1a, of 64 bits: against mistakes, not against malice.
class Hash {
 public:
  void add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) value_ = (value_ ^ bytes[i]) * 0x100000001b3ULL;
  }
  template <class Array>
  void add(const Array& array) {
    const Index sizes[2] = {array.rows(), array.cols()};
    add(sizes, sizeof sizes);
    add(array.data(), static_cast<std::size_t>(array.size()) * sizeof(*array.data()));
  }
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// But for where the work is done, which changes no more than rounding.
  void add(const Options& options) {
    Json json = options_json(options);
    const Resources resources;
    for_each_option(resources, [&](const char* name, const auto& field, const char*) {
      if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(field)>, Precision>)
        json.erase(name);
    });
    add(std::string_view(json.dump()));
    for_each_option(options, [&](const char*, const auto& field, const char*) {
      if constexpr (requires { field.matrix(); }) add(field.matrix());
    });
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

/// Calls visit(name, array) for every array of a state; for writing and for reading.
template <class State, class Visitor>
void for_each_state_array(State& state, Visitor&& visit) {
  visit("moment", state.moment);
  visit("distances", state.distances);
  visit("g", state.g);
  visit("learner_moment", state.learner.used);
  if (!state.classes) return;
  visit("class_explained", state.classes->explained);
  visit("class_moved", state.classes->moved);
  visit("class_steps", state.classes->steps);
  visit("class_discrepancies", state.classes->discrepancies);
}

/// The numbers, in one array; for writing and for reading.
template <class State, class Visitor>
void for_each_state_number(State& state, Visitor&& visit) {
  visit(state.best);
  visit(state.learner.accelerate);
  visit(state.learner.taken_back);
  if (!state.classes) return;
  visit(state.classes->translated);
  visit(state.classes->cautious);
  visit(state.classes->left_out);
  visit(state.classes->reliability);
  visit(state.classes->undecided);
}

std::string memory_name(const char* what, std::size_t place) {
  return fmt::format("memory_{}_{}", what, place);
}

/// Whatever else a file holds is not read.
bool is_of_a_state(std::string_view name) {
  static const std::set<std::string, std::less<>> known = [] {
    std::set<std::string, std::less<>> names{"checkpoint_version", "fingerprint", "history",
                                             "numbers"};
    RunState state;
    state.classes.emplace();
    for_each_state_array(state, [&](const char* key, const auto&) { names.insert(key); });
    return names;
  }();
  return known.contains(name) || name.starts_with("memory_");
}

// Raised when runs of one version change what follows from a state.
constexpr std::string_view revision = "3";

}  // namespace

Domain summary_of(const Domain& source, const Space& space) {
  Domain summary;
  const auto count = static_cast<Index>(space.source_rows.size());
  summary.points = space.shard.sum(count, 2, source.dimension() + 2, [&](Rows rows) {
    Matrix sums = Matrix::Zero(2, source.dimension() + 2);
    for (Index k = rows.begin; k < rows.end; ++k) {
      const Index i = space.source_rows[static_cast<std::size_t>(k)];
      Eigen::RowVectorXd row(sums.cols());
      row << source.points.row(i), source.weights[i],
          source.labelled() ? static_cast<double>(source.labels[i]) : 0;
      sums.row(0) += row;
      sums.row(1) += static_cast<double>((space.shard.first() + k) % 1009) * row;
    }
    return sums;
  });
  return summary;
}

std::string fingerprint(const Domain& source, const Domain& target, const Labels& known_labels,
                        const Options& options, const Model* start) {
  Hash hash;
  for (const Domain* domain : {&source, &target}) {
    hash.add(domain->points);
    hash.add(domain->weights);
    hash.add(domain->labels);
  }
  hash.add(known_labels);
  hash.add(options);
  hash.add(std::string_view(version()));
  hash.add(revision);
  if (!start) return hash.text();
  // What the first plan and the first moment are made from, less what the problem has already. The
  // potentials of the source follow from these, and each of several processes has some of them.
  hash.add(start->g);
  hash.add(start->metric.factor);
  hash.add(Vector(Vector::Constant(1, start->lambda)));
  for (const Mass& mass : start->exact)
    hash.add(
        Vector{{static_cast<double>(mass.source), static_cast<double>(mass.target), mass.amount}});
  hash.add(start->options);
  return hash.text();
}

CheckpointFile::CheckpointFile(const Checkpoint& settings, std::string fingerprint, bool ranks)
    : settings_(settings), fingerprint_(std::move(fingerprint) + (ranks ? of_ranks : "")) {}

std::optional<RunState> CheckpointFile::load() {
  std::error_code ignored;
  if (!settings_.resume || !std::filesystem::exists(settings_.path, ignored)) return {};
  const auto refuse = [&](const std::string& problem, const std::string& remedy) {
    throw Error({.field = "checkpoint",
                 .value = settings_.path + ":",
                 .problem = problem,
                 .remedy = remedy});
  };
  const auto arrays = io::read_npz(settings_.path, is_of_a_state);
  const auto no_checkpoint = [&] {
    refuse("it is no checkpoint, or a damaged one", "remove it, or name another file");
  };
  const auto find = [&](const std::string& name) -> const Matrix& {
    if (!arrays.contains(name)) no_checkpoint();
    return arrays.at(name).values;
  };
  const auto text = [&](const std::string& name) {
    std::string bytes;
    for (const double byte : find(name).reshaped()) {
      if (!(byte >= 0 && byte <= 255)) no_checkpoint();
      bytes += static_cast<char>(static_cast<unsigned char>(byte));
    }
    return bytes;
  };
  if (find("checkpoint_version").size() != 1 ||
      find("checkpoint_version")(0, 0) != checkpoint_version)
    refuse("it was written by another version", "remove it, or name another file");
  const std::string found = text("fingerprint");
  const bool by_ranks = found.ends_with(of_ranks);
  if (by_ranks != fingerprint_.ends_with(of_ranks))
    refuse(by_ranks ? "it was written under mpirun, and this run is not"
                    : "it was written without mpirun, and this run is under it",
           "start the run as it was started before, or name another file");
  if (found != fingerprint_)
    refuse("it belongs to other data or other options", "give the same, or name another file");
  RunState state;
  try {
    state.history = history_from(parsed(text("history")));
  } catch (const std::exception&) {
    refuse("its history is damaged", "remove it, or name another file");
  }
  if (arrays.contains("class_moved")) state.classes.emplace();
  for_each_state_array(state, [&](const char* name, auto& array) {
    const Matrix& values = find(name);
    using Array = std::remove_cvref_t<decltype(array)>;
    if constexpr (std::is_same_v<Array, Matrix>)
      array = values;
    else
      array = values.reshaped<Eigen::RowMajor>();
  });
  const Matrix& numbers = find("numbers");
  Index place = 0;
  for_each_state_number(state, [&](auto& number) {
    using Number = std::remove_cvref_t<decltype(number)>;
    const bool there = place < numbers.size();
    const double value = there ? numbers.reshaped()[place++] : 0;
    const bool is_count = std::is_same_v<Number, int>;
    if (!there || (is_count && !(value >= 0 && value <= 1e6)))
      refuse("its numbers are damaged", "remove it, or name another file");
    number = static_cast<Number>(value);
  });
  for (std::size_t i = 0; arrays.contains(memory_name("value", i)); ++i) {
    state.learner.values.emplace_back(find(memory_name("value", i)).reshaped<Eigen::RowMajor>());
    state.learner.residuals.emplace_back(
        find(memory_name("residual", i)).reshaped<Eigen::RowMajor>());
  }
  last_ = state;
  return state;
}

double CheckpointFile::age() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - written_).count();
}

void CheckpointFile::save(RunState state) {
  // Before the first plan there are no potentials but those that an earlier run had reached in it.
  if (state.g.size() == 0) state.g = std::move(last_.g);
  last_ = std::move(state);
  fresh_ = true;
  if (!begun_ || age() >= settings_.pause) write();
}

void CheckpointFile::flush() {
  if (fresh_) write();
}

bool CheckpointFile::due() const {
  return age() >= settings_.interval;
}

void CheckpointFile::save_potentials(const Vector& g) {
  if (!g.allFinite()) return;
  last_.g = g;
  write();
}

void CheckpointFile::write() {
  const RunState& state = last_;
  begun_ = true;
  fresh_ = false;
  written_ = std::chrono::steady_clock::now();
  std::map<std::string, io::Value> arrays;
  arrays["checkpoint_version"] = Labels(Labels::Constant(1, checkpoint_version));
  arrays["fingerprint"] = fingerprint_;
  arrays["history"] = history_json(state.history).dump();
  for_each_state_array(state, [&](const char* name, const auto& array) { arrays[name] = array; });
  std::vector<double> numbers;
  for_each_state_number(state,
                        [&](auto number) { numbers.push_back(static_cast<double>(number)); });
  arrays["numbers"] = Vector(Eigen::Map<const Vector>(numbers.data(), std::ssize(numbers)));
  for (std::size_t i = 0; i < state.learner.values.size(); ++i) {
    arrays[memory_name("value", i)] = state.learner.values[i];
    arrays[memory_name("residual", i)] = state.learner.residuals[i];
  }
  try {
    io::write_npz(settings_.path, arrays);
  } catch (const Error& error) {
    if (!std::exchange(told_, true) && settings_.warn) settings_.warn(error.message());
  }
}

}  // namespace remblai
