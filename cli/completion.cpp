// remblai completion bash: a completion script made from the program's own flags.
// What a flag accepts is read off the type shown in its help: a|b|FILE is two words or a file, and
// other capitals stand for what a person makes up.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "arguments.h"
#include "commands.h"
#include "remblai/error.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

/// The value of a flag: words to choose from, and whether a path may stand there.
struct Values {
  std::vector<std::string> words;
  bool files = false;
};

Values values_of(const CLI::Option& option) {
  Values values;
  for (const std::string& part : CLI::detail::split(option.get_type_name(), '|')) {
    if (part == "FILE" || part == "DIR") {
      values.files = true;
    } else if (std::none_of(part.begin(), part.end(),
                            [](char c) { return 'A' <= c && c <= 'Z'; })) {
      values.words.push_back(part);
    }
  }
  return values;
}

std::string case_of(const std::string& pattern, const Values& values) {
  return fmt::format("    {}) words=\"{}\" files={} ;;\n", pattern, fmt::join(values.words, " "),
                     values.files ? "yes" : "");
}

std::string bash(const CLI::App& app) {
  std::string values, flags;
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    Values any{flags_of(*command), false};
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) {
        const Values positional = values_of(*option);
        any.words.insert(any.words.end(), positional.words.begin(), positional.words.end());
        any.files = positional.files;
      }
      if (option->get_items_expected_max() == 0) continue;
      for (const std::string& name : option->get_lnames()) {
        values += case_of(fmt::format("{}:--{}", command->get_name(), name), values_of(*option));
      }
    }
    flags += case_of(command->get_name() + ":*", any);
  }
  Values first{commands, false};
  for (const std::string& flag : flags_of(app)) first.words.push_back(flag);
  return fmt::format(
      R"(# bash completion for remblai. To load it now: source <(remblai completion bash)
# For every shell: remblai completion bash > ~/.local/share/bash-completion/completions/remblai
_remblai() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command="" words="" files="" prefix="" word
  if [[ $current == --*=* ]]; then
    previous=${{current%%=*}} prefix=$previous= current=${{current#*=}}
  elif [[ $current == "=" ]]; then
    current=""
  elif [[ $previous == "=" ]]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in
    {}) command=$word; break ;;
    esac
  done
  case $command:$previous in
{}{}{}  esac
  COMPREPLY=()
  [[ $words ]] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ $files ]]; then
    compopt -o filenames 2> /dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  fi
  COMPREPLY=("${{COMPREPLY[@]/#/$prefix}}")
}}
complete -F _remblai remblai
)",
      fmt::join(commands, "|"), values, flags, case_of(":*", first));
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("completion", "print a completion script for the shell");
  command.footer("");
  command.add_option("SHELL", *shell, "only bash so far")->type_name("bash")->required();
  add_help(command);
  command.callback([shell, &app, &action] {
    action = [shell, &app] {
      if (*shell != "bash") {
        throw Error({.field = "completion",
                     .value = fmt::format("'{}'", *shell),
                     .problem = "is not a shell known here",
                     .remedy = "only bash is"});
      }
      tell("{}", bash(app));
      return static_cast<int>(Exit::success);
    };
  });
}

}  // namespace remblai::cli
