// Flags from for_each_option: the name, the default and the help text come from there and nowhere
// else.
#include "arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "remblai/error.h"
#include "remblai/threads.h"
#include "values.h"

namespace remblai::cli {
namespace {

const char* heading(std::string_view name) {
  if (name == "rule" || name == "neighbours" || name == "knn-metric") return group::prediction;
  bool of_classes = false;
  const ClassOptions defaults;
  for_each_option(defaults, [&](const char* option, const auto&, const char*) {
    of_classes = of_classes || option == name;
  });
  if (of_classes) return group::classes;
  if (name == "threads" || name == "memory") return group::running;
  return group::method;
}

/// `file` receives the path where the option accepts one; null where it does not.
template <class Field>
void add_option(CLI::App& command, const std::string& name, Field& field, const std::string& help,
                std::string* file, const std::string& default_text = "") {
  const std::string flag = "--" + name;
  command
      .add_option(
          flag,
          [flag, &field, file](const CLI::results_t& results) {
            parse(flag, results.back(), field, file);
            return true;
          },
          help)
      ->type_name(type_of(field, file != nullptr))
      ->default_str(default_text.empty() ? text_of(field) : default_text)
      ->group(heading(name));
}

/// The parts of a list; throws Error when one is empty.
std::vector<std::string> split(const std::string& flag, const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (parts.back().empty())
      throw Error({.field = flag,
                   .value = fmt::format("'{}'", text),
                   .problem = "has an empty part",
                   .remedy = "write values with commas between them"});
    begin = end + 1;
  }
  return parts;
}

template <class Value>
void add_values(CLI::App& command, const std::string& flag, std::vector<Value>& values,
                const std::string& help, const char* heading, const std::string& default_text,
                const std::string& type) {
  command
      .add_option(
          flag,
          [flag, &values](const CLI::results_t& results) {
            values.clear();
            for (const std::string& part : split(flag, results.back())) {
              Value value{};
              parse(flag, part, value, nullptr);
              if (std::find(values.begin(), values.end(), value) != values.end())
                throw Error({.field = flag, .value = part, .problem = "comes twice"});
              values.push_back(value);
            }
            return true;
          },
          help)
      ->type_name(type)
      ->default_str(default_text)
      ->group(heading);
}

/// "0.2, class-aware 0.1" for an option whose default is left to the method; else the default.
std::string default_of(std::string_view option, const std::string& value) {
  const Options left, paper = left.resolved();
  const Options class_aware = Options{.method = Method::class_aware}.resolved();
  const auto text = [option](const Options& options) {
    std::string found;
    for_each_option(options, [&](const char* name, const auto& field, const char*) {
      if (name == option) found = text_of(field);
    });
    return found;
  };
  if (value != text(left) || text(left) == text(paper)) return value;
  return fmt::format("{}, class-aware {}", text(paper), text(class_aware));
}

template <class OptionsType>
void add_named(CLI::App& command, OptionsType& options,
               std::initializer_list<std::string_view> names, const std::string& default_text) {
  for_each_option(options, [&](const char* name, auto& field, const char* help) {
    if (std::find(names.begin(), names.end(), name) == names.end()) return;
    add_option(command, name, field, help, nullptr,
               default_text.empty() ? default_of(name, text_of(field)) : default_text);
  });
}

}  // namespace

Inputs inputs_of(const FitArguments& arguments) {
  Inputs all{{"source", arguments.source},
             {"source-labels", arguments.source_labels},
             {"source-weights", arguments.source_weights},
             {"target", arguments.target},
             {"target-labels", arguments.target_labels},
             {"target-weights", arguments.target_weights},
             {"known-labels", arguments.known_labels},
             {"target-shares", arguments.target_shares},
             {"metric", arguments.metric},
             {"prior", arguments.prior}};
  std::erase_if(all, [](const auto& input) { return input.second.empty(); });
  return all;
}

CLI::Option* add_file(CLI::App& command, const std::string& flag, std::string& value,
                      const std::string& help, const std::string& type) {
  return command.add_option(flag, value, help)->type_name(type)->group(group::files);
}

CLI::Option* add_flag(CLI::App& command, const std::string& flag, bool& value,
                      const std::string& help, const char* heading) {
  return command.add_flag(flag, value, help)->group(heading);
}

void add_options(CLI::App& command, FitArguments& arguments,
                 std::initializer_list<std::string_view> names) {
  for_each_option(arguments.options, [&](const char* name, auto& field, const char* help) {
    if (names.size() > 0 && std::find(names.begin(), names.end(), name) == names.end()) return;
    using Field = std::remove_reference_t<decltype(field)>;
    std::string* file = nullptr;
    if constexpr (std::is_same_v<Field, ChoiceOrMatrix<MetricChoice>>) file = &arguments.metric;
    if constexpr (std::is_same_v<Field, ChoiceOrMatrix<PriorChoice>>) file = &arguments.prior;
    if constexpr (std::is_same_v<Field, ChoiceOrMatrix<SharesChoice>>)
      file = &arguments.target_shares;
    add_option(command, name, field, help, file, default_of(name, text_of(field)));
  });
}

void add_options(CLI::App& command, PredictOptions& options) {
  for_each_option(options, [&](const char* name, auto& field, const char* help) {
    add_option(command, name, field, help, nullptr);
  });
}

void settle_rule(const CLI::App& command, PredictOptions& options) {
  for (const char* flag : {"--neighbours", "--knn-metric"}) {
    if (command.count(flag) == 0) continue;
    if (options.rule == Rule::automatic) options.rule = Rule::nearest;
    if (options.rule != Rule::nearest)
      throw Error({.field = flag,
                   .problem = fmt::format("has no meaning for the rule {}", name(options.rule)),
                   .remedy = "leave it out, or give the $rule nearest"});
  }
}

void add_options(CLI::App& command, Options& options,
                 std::initializer_list<std::string_view> names) {
  add_named(command, options, names, "");
}

void add_options(CLI::App& command, Resources& resources,
                 std::initializer_list<std::string_view> names, const std::string& default_text) {
  add_named(command, resources, names, default_text);
}

void add_list(CLI::App& command, const std::string& flag, std::vector<double>& values,
              const std::string& help, const char* heading) {
  add_values(command, flag, values, help, heading, fmt::format("{}", fmt::join(values, ",")),
             "NUMBERS");
}

void add_list(CLI::App& command, const std::string& flag, std::vector<int>& values,
              const std::string& help, const char* heading, const std::string& default_text) {
  add_values(command, flag, values, help, heading,
             default_text.empty() ? fmt::format("{}", fmt::join(values, ",")) : default_text,
             "INTEGERS");
}

void add_list(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
              const std::string& help, const char* heading, const std::string& default_text) {
  add_values(command, flag, values, help, heading,
             default_text.empty() ? fmt::format("{}", fmt::join(values, ",")) : default_text,
             "NAMES");
}

void add_integer(CLI::App& command, const std::string& flag, int& value, const std::string& help,
                 const char* heading) {
  command
      .add_option(
          flag,
          [flag, &value](const CLI::results_t& results) {
            parse(flag, results.back(), value, nullptr);
            return true;
          },
          help)
      ->type_name("INTEGER")
      ->default_str(text_of(value))
      ->group(heading);
}

void add_known_labels(CLI::App& command, std::string& path) {
  add_file(command, "--known-labels", path,
           "labels of target points that may be used to fit (class-aware), -1 where there is none");
}

void add_dry_run(CLI::App& command, bool& dry_run) {
  add_flag(command, "--dry-run", dry_run,
           "read and check everything, say about how long the fit would take and how much memory, "
           "and write nothing",
           group::running);
}

void add_checkpoint(CLI::App& command, FitArguments& arguments) {
  add_file(command, "--checkpoint", arguments.checkpoint,
           "keep the state of the fit in this .npz file while it runs, for --resume");
  add_flag(command, "--resume", arguments.resume,
           "go on from the checkpoint of a run that was killed, if it had come to one",
           group::files)
      ->needs("--checkpoint");
}

void add_overwrite(CLI::App& command, bool& overwrite) {
  add_flag(command, "--overwrite", overwrite,
           "replace files that are in the way; inputs are never replaced", group::files);
}

void add_report_file(CLI::App& command, std::string& path) {
  add_file(command, "--report", path,
           "also a page for the browser, a .html file that needs no network");
}

void add_transpose(CLI::App& command, bool& transpose) {
  add_flag(command, "--transpose", transpose, "points are the columns of their files, not the rows",
           group::files);
}

void add_skip(CLI::App& command, std::vector<std::string>& names) {
  command
      .add_option("--skip", names,
                  "leave out this column of a .csv of points, by name or by index from 0; can be "
                  "repeated")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(group::files);
}

void add_quiet(CLI::App& command, bool& quiet) {
  add_flag(command, "--quiet", quiet, "no progress and no summary", group::running);
}

void add_json(CLI::App& command, bool& json) {
  add_flag(command, "--json", json, "the result as JSON on standard output, and nothing else there",
           group::running);
}

void add_help(CLI::App& command) {
  command.set_help_flag("-h,--help", "this text")->group(group::running);
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

}  // namespace remblai::cli
