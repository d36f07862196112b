// remblai info: what a data or model file holds, in words.
// Reads anything that the other commands read, and says why not where they would refuse.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "arguments.h"
#include "commands.h"
#include "remblai/devices.h"
#include "remblai/diagnosis.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/model_io.h"
#include "remblai/threads.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

constexpr std::size_t most_classes = 50;  // a list with more distinct numbers is hardly labels

bool is_list(const io::Array& array) {
  Index longer = 0;
  for (Index extent : array.shape) longer += extent > 1;
  return longer <= 1;
}

/// "10 classes: 0 (50), 1 (50), ..." when the list could be labels, nothing otherwise.
std::string classes(const Matrix& values) {
  std::map<double, Index> counts;
  for (Index i = 0; i < values.size(); ++i) {
    const double value = values.data()[i];
    if (value != std::floor(value)) return "";
    ++counts[value];
    if (counts.size() > most_classes) return "";
  }
  std::vector<std::string> parts;
  for (const auto& [value, times] : counts)
    parts.push_back(fmt::format("{:.0f} ({})", value, times));
  return fmt::format("{} {}, with counts: {}", counts.size(),
                     counts.size() == 1 ? "class" : "classes as labels", fmt::join(parts, ", "));
}

void describe_values(const io::Array& array) {
  const Matrix& values = array.values;
  double low = INFINITY, high = -INFINITY;
  Index nan = 0, infinite = 0, zero = 0;
  for (Index i = 0; i < values.size(); ++i) {
    const double value = values.data()[i];
    nan += std::isnan(value);
    infinite += std::isinf(value);
    zero += value == 0;
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low <= high) {
    tell("  values {:.6g} to {:.6g}, {:.1f} % zeros\n", low, high,
         100.0 * static_cast<double>(zero) / static_cast<double>(values.size()));
  }
  tell("  {} NaN, {} infinite{}\n", nan, infinite,
       nan + infinite > 0 ? ": remblai refuses them as input" : "");
  if (is_list(array) && nan + infinite == 0) {
    if (const std::string text = classes(values); !text.empty()) tell("  {}\n", text);
  }
}

std::string shape_of(const io::Array& array) {
  if (array.shape.empty()) return "one number";
  if (array.shape.size() > 1) return fmt::format("{}", fmt::join(array.shape, " x "));
  return fmt::format("{} {}", array.shape[0], array.type == "text" ? "fields" : "numbers");
}

/// By the end of the name, in any case, as the readers know the format.
bool has_extension(const std::string& path, std::string_view extension) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  return path.size() >= extension.size() &&
         std::equal(extension.rbegin(), extension.rend(), path.rbegin(),
                    [&](char a, char b) { return a == lower(b); });
}

/// Reads the numbers of one array and describes them. Text is told in place of them; any other
/// reason why they cannot be taken is returned.
std::string describe(io::Array array, const std::function<io::Array()>& read) {
  const bool plain = array.type == "number";  // of a .csv, whose fields have no other type
  tell("{}{}{}\n", array.name.empty() ? "" : printable(array.name) + ": ", shape_of(array),
       plain ? "" : ", " + array.type);
  if (array.shape.size() > 1) {
    const Index rows = array.shape[0];
    Index columns = 1;
    for (std::size_t i = 1; i < array.shape.size(); ++i) columns *= array.shape[i];
    if (!is_list(array)) tell("  as points: {} of {} coordinates\n", rows, columns);
  }
  try {
    array.values = read().values;
    describe_values(array);
  } catch (const Error& error) {
    const std::string cause = error.message().text(flag_of);
    if (!array.type.starts_with("text")) return cause;
    tell("  not usable as numbers: {}\n", cause);
  }
  return "";
}

void require(const std::string& failure) {
  if (!failure.empty()) throw Error({.problem = literal(failure)});
}

// A list of its columns would take a hundred times as much memory as a wide file.
void describe_table(const std::string& path) {
  constexpr std::size_t most_names = 12;
  Index width = 0, rows = 0, text = 0;
  std::vector<std::string> names;
  io::visit(path, [&](const io::Array& column, const auto&) {
    ++width;
    rows = column.shape[0];
    text += column.type == "text";
    if (names.size() < most_names) names.push_back(printable(column.name));
  });
  tell("{}: a table with {} columns: {}{}\n", printable(path), width, fmt::join(names, ", "),
       width > std::ssize(names) ? ", ..." : "");
  const std::string type = text > 0 ? fmt::format("text in {} of the columns", text) : "numbers";
  require(describe({"", type, {rows, width}, {}}, [&] { return io::read_array(path); }));
}

void describe_data(const std::string& path, const std::vector<io::Array>& arrays) {
  if (arrays.empty()) io::read_points(path);  // says why none of them can be taken
  const std::vector<io::Refused> refused = io::list_refused(path);
  tell("{}: {} {} of numbers{}\n", printable(path), arrays.size(),
       arrays.size() == 1 ? "array" : "arrays",
       refused.empty() ? "" : fmt::format(", {} that cannot be used", refused.size()));
  std::vector<std::string> failures;
  io::visit(path, [&](const io::Array& array, const std::function<io::Array()>& read) {
    const std::string failure = describe(array, read);
    if (failure.empty()) return;
    // The only one of a file is the whole answer, which the end tells.
    if (arrays.size() + refused.size() > 1) tell("  not usable: {}\n", failure);
    failures.push_back(failure);
  });
  for (const io::Refused& array : refused)
    tell("{}: {}\n  not usable: {}\n", printable(array.name), printable(array.type),
         printable(array.reason));
  if (!failures.empty() && failures.size() == arrays.size())
    throw Error({.problem = literal(failures[0])});
}

void describe_one(const io::Spec& spec) {
  const std::string text = spec.path + ":" + spec.name;
  std::optional<io::Array> found;
  io::visit(spec.path, [&](const io::Array& array, const auto&) {
    if (!found && array.name == spec.name) found = array;
  });
  if (found) return require(describe(*found, [&] { return io::read_array(text); }));
  // The index of a column, or a name that is not there, which the reader refuses.
  const Matrix values = io::read_points(text);
  require(describe({spec.name, "number", {values.rows()}, {}}, [&] {
    return io::Array{.name = {}, .type = {}, .shape = {}, .values = values};
  }));
}

void describe_model(const std::string& path) {
  const Model model = load(path);
  const auto line = [](const char* what, const std::string& text) {
    tell("  {:<10}{}\n", what, text);
  };
  tell("{}: a remblai model\n", printable(path));
  line("method", fmt::format("{}", name(model.options.method)));
  line("metric",
       fmt::format("{}{}, {} x {}, of rank {} in the span of the data", name(model.options.metric),
                   model.options.metric == MetricChoice::learned
                       ? fmt::format(" (prior {})", name(model.options.prior))
                       : "",
                   model.metric.dimension(), model.metric.dimension(), model.metric.rank()));
  if (model.classes && model.classes->geodesic < model.options.geodesic)
    line("geodesic", fmt::format("{:g} in place of {:g}, for the domains look different",
                                 model.classes->geodesic, model.options.geodesic));
  line("source",
       fmt::format(
           "{} points of {} coordinates, {}", model.source.size(), model.source.dimension(),
           model.source.labelled() ? "with labels" : "without labels: predict cannot use it"));
  line("target", fmt::format("{} points", model.target.size()));
  line("lambda", model.lambda > 0
                     ? fmt::format("{:.6g} ({} {})", model.lambda, model.options.lambda,
                                   name(model.options.lambda_unit))
                     : std::string("0: exact transport"));
  line("prepared", fmt::format("{}", name(model.options.preprocess)));
  line("steps", fmt::format("{} of at most {}", model.history.size(), model.options.steps));
  if (model.classes) line("reliable", diagnose(*model.classes).trust_words);
  line("status",
       fmt::format("{}: {}", name(model.status.outcome), model.status.message.text(flag_of)));
}

bool is_checkpoint(const std::vector<io::Array>& arrays) {
  return std::ranges::count_if(arrays, [](const io::Array& array) {
           return array.name == "checkpoint_version" || array.name == "fingerprint";
         }) == 2;
}

void describe_checkpoint(const std::string& path, const std::vector<io::Array>& arrays) {
  const auto has = [&](const char* name) {
    return std::ranges::any_of(arrays, [&](const io::Array& array) { return array.name == name; });
  };
  const Matrix bytes = io::read_array(path + ":history").values;
  std::string text;
  for (const double byte : bytes.reshaped())
    text += static_cast<char>(byte >= 0 && byte < 256 ? static_cast<unsigned char>(byte) : 0);
  const nlohmann::json history = nlohmann::json::parse(text, nullptr, false);
  if (!history.is_array())
    throw Error({.problem = literal(path) + ": a checkpoint whose history is damaged"});
  tell("{}: a checkpoint of remblai fit or adapt, which goes on from there with --resume\n",
       printable(path));
  tell("  {:<10}{}\n", "method", has("class_moved") ? "class-aware" : "paper");
  tell("  {:<10}{} made\n", "steps", history.size());
}

int run(const std::string& file) {
  const io::Spec spec = io::parse_spec(file);
  if (!spec.name.empty()) {
    describe_one(spec);
  } else if (is_model_file(spec.path)) {
    describe_model(spec.path);
  } else if (has_extension(spec.path, ".csv") || has_extension(spec.path, ".tsv")) {
    describe_table(spec.path);
  } else if (const auto arrays = io::list(spec.path); is_checkpoint(arrays)) {
    describe_checkpoint(spec.path, arrays);
  } else {
    describe_data(spec.path, arrays);
  }
  return Exit::success;
}

int list_devices() {
  tell("cpu       {} cores\n", thread_count(0));
  int number = 0;
  for (const Gpu& gpu : gpus()) {
    const std::string called = number == 0 ? "cuda" : fmt::format("cuda:{}", number);
    tell("{:<9} {}, {:.0f} GiB of memory, {:.0f} free, compute capability {}\n", called, gpu.name,
         gpu.memory / 0x1p30, gpu.free / 0x1p30, gpu.architecture);
    ++number;
  }
  if (number == 0) tell("no GPU    {}\n", why_no_gpu());
  return Exit::success;
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
  const auto file = std::make_shared<std::string>();
  const auto devices = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand(
      "info", "say what a data or model file holds, or which devices there are");
  CLI::Option* name =
      command.add_option("FILE", *file, "data or model; FILE:NAME for one array or column")
          ->type_name("FILE");
  CLI::Option* flag = command.add_flag("--devices", *devices, "list what --device may be here");
  name->excludes(flag);
  add_help(command);
  command.callback([file, devices, &action] {
    if (file->empty() && !*devices) throw CLI::RequiredError("FILE or --devices");
    action = [file, devices] { return *devices ? list_devices() : run(*file); };
  });
}

}  // namespace remblai::cli
