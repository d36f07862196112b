// The help text: CLI11 prints no default next to its words and never wraps; this does both.
// Headings and their order stay CLI11's.
#include "help.h"

#include <CLI/CLI.hpp>
#include <string>

namespace remblai::cli {
namespace {

constexpr std::size_t left_width = 30;
constexpr std::size_t line_width = 100;

/// `left`, then the words of `text` in a column of their own.
std::string paragraph(const std::string& left, const std::string& text) {
  std::string result, line = "  " + left;
  if (line.size() + 2 > left_width && !text.empty()) {
    result = line + "\n";
    line.clear();
  }
  line.resize(std::max(line.size(), left_width), ' ');
  bool first = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!first && line.size() + 1 + word.size() > line_width) {
      result += line + "\n";
      line.assign(left_width, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
    first = false;
    begin = end + 1;
  }
  return result + line + "\n";
}

class Help : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override {
    std::string left = make_option_name(option, positional);
    if (!positional && option->get_items_expected_max() > 0) left += " " + option->get_type_name();
    std::string text = option->get_description();
    if (!option->get_default_str().empty()) text += " [default: " + option->get_default_str() + "]";
    if (option->get_required()) text += " [required]";
    return paragraph(left, text);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return paragraph(command->get_name(), command->get_description());
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string line = "\nUsage: " + name;
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_required() || option->get_positional()) continue;
      line += " " + option->get_name() + " " + option->get_type_name();
    }
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) line += " " + option->get_name(true);
    }
    if (!app->get_subcommands({}).empty()) return line + " COMMAND [options]\n";
    return line + " [options]\n";
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);
    return text;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<Help>();
}

}  // namespace remblai::cli
