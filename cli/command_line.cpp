// Finds the subcommand and parses its flags. Mistakes are told with the nearest name that exists.
#include "command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <sstream>

#include "arguments.h"
#include "help.h"
#include "ranks.h"
#include "remblai/error.h"
#include "remblai/version.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

bool is_flag(const std::string& word) {
  return word.starts_with("--");
}

/// Where a value may stand, -1 is a number; where a flag must stand, it is a mistake like -x.
bool looks_like_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

/// Throws Error on an unknown subcommand or flag, on a word too many, on a flag that comes twice,
/// and on one whose value is missing: CLI11 would report a missing required flag first, or take the
/// next flag for the value. A value that begins with a dash is joined to its flag. Behind -- there
/// are no flags.
void check_words(const CLI::App& app, Words& words) {
  const CLI::App* command = &app;
  std::size_t first = 0;
  if (!words.empty() && !words[0].starts_with("-")) {
    std::vector<std::string> commands;
    for (const CLI::App* one : app.get_subcommands({})) commands.push_back(one->get_name());
    if (std::find(commands.begin(), commands.end(), words[0]) == commands.end()) {
      throw Error({.problem = fmt::format("unknown command '{}'{}", literal(words[0]),
                                          suggestion(words[0], commands)),
                   .remedy = fmt::format("the commands are {}", fmt::join(commands, ", "))});
    }
    command = app.get_subcommand(words[0]);
    first = 1;
  }
  const std::string program = first ? "remblai " + words[0] : std::string("remblai");
  const auto options = command->get_options();
  auto places = std::count_if(options.begin(), options.end(),
                              [](const CLI::Option* one) { return one->get_positional(); });
  std::set<std::string> seen;
  bool flags_end = false;
  for (std::size_t i = first; i < words.size(); ++i) {
    if (!flags_end && words[i] == "--") {
      flags_end = true;
      continue;
    }
    if (flags_end || !looks_like_flag(words[i])) {
      if (places-- > 0) continue;
      throw Error({.problem = fmt::format("unexpected '{}'", literal(words[i])),
                   .remedy = fmt::format("no flag before it takes it: see '{} --help'", program)});
    }
    const std::string flag = words[i].substr(0, words[i].find('='));
    const std::vector<std::string> flags = flags_of(*command);
    if (std::find(flags.begin(), flags.end(), flag) == flags.end()) {
      throw Error(
          {.problem = fmt::format("unknown option '{}'{}", literal(flag), suggestion(flag, flags)),
           .remedy = fmt::format("'{} --help' lists them all", program)});
    }
    const CLI::Option* option = command->get_option(flag);
    if (!seen.insert(flag).second && option->get_items_expected_max() <= 1) {
      throw Error({.value = flag, .problem = "was given twice", .remedy = "give it once"});
    }
    if (option->get_items_expected_max() == 0) continue;
    const bool here = flag.size() + 1 < words[i].size();
    const bool next = flag == words[i] && i + 1 < words.size() && !is_flag(words[i + 1]);
    if (!here && !next)
      throw Error({.value = flag, .problem = "needs a value: " + option->get_type_name()});
    if (!next) continue;
    if (!words[i + 1].starts_with('-')) {
      ++i;
      continue;
    }
    words[i] += "=" + words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

}  // namespace

bool works_on_ranks(const std::string& command) {
  return command == "fit" || command == "adapt";
}

Action parse_command_line(Words words) {
  const auto owner = std::make_shared<CLI::App>(
      "Learns a transport plan and the ground metric it should use, together, and carries\n"
      "labels from one set of points to another.",
      "remblai");
  CLI::App& app = *owner;
  app.formatter(help_formatter());
  app.set_version_flag("-V,--version", fmt::format("remblai {}", version()), "the version");
  app.require_subcommand(1);
  const std::string files =
      "A FILE is a path, or PATH:NAME for one array of a .npz or .mat or one column of a .csv.\n"
      "Formats: .npy, .npz, .csv, .tsv, .mat, IDX and IDX.gz.";
  app.footer(files);  // of the subcommands added below
  Action action;
  for (auto add : {add_adapt, add_fit, add_map, add_predict, add_evaluate, add_info, add_report,
                   add_compare, add_demo, add_reproduce, add_bench, add_completion}) {
    add(app, action);
  }
  app.set_help_flag("-h,--help", "this text");
  app.footer(files +
             " 'remblai COMMAND --help' tells more.\n"
             "Exit codes: 0 done, 2 bad input, 3 not converged (results written), 130 stopped by "
             "Ctrl-C.");

  if (words.empty()) {
    return [text = app.help()] {
      tell_text(stderr, text);
      return Exit::bad_input;
    };
  }
  if (words[0] == "-V") words[0] = "--version";
  if (words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  // Help is what was asked for, whatever else stands on the line before --.
  const auto end = std::find(words.begin(), words.end(), "--");
  std::replace(words.begin(), end, std::string("-h"), std::string("--help"));
  if (end != words.begin() && std::find(words.begin() + 1, end, "--help") != end) {
    words = {words[0], "--help"};
  }
  if (words[0] == "--help" || words[0] == "--version") words.resize(1);
  check_words(app, words);
  const std::string command = words[0];
  const bool asks = words.size() == 1 ? is_flag(command) : words[1] == "--help";
  if (!asks && !works_on_ranks(command) && started_as_several())
    throw Error({.value = command,
                 .problem = "works in one process, and these are several",
                 .remedy = "start it without mpirun; fit and adapt are what several can do"});
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // help or version
      std::ostringstream text;
      app.exit(error, text, text);
      return [told = text.str()] {
        tell_text(stdout, told);
        return Exit::success;
      };
    }
    throw Error({.problem = literal(error.what()),
                 .remedy = fmt::format("see 'remblai {} --help'", literal(command))});
  }
  return [owner, action] { return action(); };  // some refer to their command
}

}  // namespace remblai::cli
