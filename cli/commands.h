// The subcommands: each function adds one to the program.
// Parsing only stores what to do; main runs it afterwards and returns its exit code.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace remblai::cli {

/// Exit codes of the program.
enum Exit : int {
  success = 0,
  bad_input = 2,      ///< nothing was written, but what adapt or reproduce had finished
  not_converged = 3,  ///< results were written
  interrupted = 130,  ///< by Ctrl-C or SIGTERM; what was reached is written
};

/// What a subcommand does once the command line is parsed.
using Action = std::function<int()>;

void add_adapt(CLI::App& app, Action& action);
void add_fit(CLI::App& app, Action& action);
void add_map(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_evaluate(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);
void add_reproduce(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);

}  // namespace remblai::cli
