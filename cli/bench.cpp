// remblai bench: one problem timed, so that anyone can repeat a comparison.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "commands.h"
#include "outputs.h"
#include "progress.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/threads.h"
#include "remblai/transport.h"
#include "remblai/version.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BenchCommand {
  std::string what, cost, out;
  Options options;
  int repeat = 3;
  bool json = false, overwrite = false;
};

struct Timing {
  TransportResult result;
  std::vector<double> seconds;
  Vector f, g;

  double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

Timing time_transport(const BenchCommand& arguments, const Matrix& cost, int threads) {
  const auto uniform = [](Index n) { return Vector::Constant(n, 1.0 / static_cast<double>(n)); };
  const Interrupt interrupt(false);
  Timing timing;
  TransportOptions options;
  options.tolerance = arguments.options.tolerance;
  options.solver = arguments.options.solver;
  options.keep_going = [](int, double) { return !Interrupt::requested(); };
  for (int round = 0; round < arguments.repeat && !timing.result.stopped; ++round) {
    Transport problem(uniform(cost.rows()), uniform(cost.cols()),
                      {.threads = threads,
                       .precision = arguments.options.resources.precision,
                       .device = arguments.options.resources.device});
    problem.set_cost(cost);
    const Stopwatch watch;
    timing.result = problem.solve(arguments.options.lambda, options);
    timing.seconds.push_back(watch.seconds());
    timing.f = problem.f();
    timing.g = problem.g();
  }
  return timing;
}

Json to_json(const BenchCommand& arguments, const Matrix& cost, int threads, const Timing& timing) {
  const TransportResult& result = timing.result;
  return {{"rows", cost.rows()},
          {"columns", cost.cols()},
          {"lambda", arguments.options.lambda},
          {"largest_cost", cost.maxCoeff()},
          {"tolerance", arguments.options.tolerance},
          {"threads", threads},
          {"solver", name(arguments.options.solver)},
          {"precision", name(arguments.options.resources.precision)},
          {"device", name(arguments.options.resources.device)},
          {"seconds", timing.best()},
          {"all_seconds", timing.seconds},
          {"iterations",
           {{"fused", result.by_kind.fused},
            {"newton", result.newton_steps},
            {"products", result.by_kind.products},
            {"exponentials", result.by_kind.exponentials}}},
          {"source_error", result.source_error},
          {"target_error", result.target_error},
          {"gap", result.gap},
          {"cost", result.cost},
          {"converged", result.converged},
          {"version", version()},
          {"build", build()}};
}

void print_text(const BenchCommand& arguments, const Matrix& cost, int threads,
                const Timing& timing) {
  const TransportResult& result = timing.result;
  tell("{} x {}, lambda {:g} (largest cost / lambda {:.3g}), {} thread{}, {}, solver {}\n",
       cost.rows(), cost.cols(), arguments.options.lambda,
       cost.maxCoeff() / arguments.options.lambda, threads, threads == 1 ? "" : "s",
       name(arguments.options.resources.precision), name(arguments.options.solver));
  tell("{:.6f} s, the best of {}\n", timing.best(), timing.seconds.size());
  tell(
      "{} fused passes (K x and K' y at once), {} Newton steps, {} products, {} passes of "
      "exponentials\n",
      result.by_kind.fused, result.newton_steps, result.by_kind.products,
      result.by_kind.exponentials);
  tell("L1 errors of the marginals {:.2e} and {:.2e}, gap at most {:.2e}{}\n", result.source_error,
       result.target_error, result.gap, result.converged ? "" : ": NOT CONVERGED");
}

int run(const BenchCommand& arguments) {
  arguments.options.validate();
  if (!(arguments.options.lambda > 0))
    throw Error({.field = "lambda",
                 .value = fmt::format("{}", arguments.options.lambda),
                 .problem = "is not positive"});
  if (arguments.repeat < 1)
    throw Error({.field = "--repeat",
                 .value = fmt::format("{}", arguments.repeat),
                 .problem = "is less than 1"});
  require_outputs({{"--out", arguments.out, ".npz"}}, {{"cost", arguments.cost}},
                  arguments.overwrite);
  const Matrix cost = io::read_points(arguments.cost);
  const int threads = thread_count(arguments.options.resources.threads);
  const Timing timing = time_transport(arguments, cost, threads);
  if (!arguments.out.empty()) io::write_npz(arguments.out, {{"f", timing.f}, {"g", timing.g}});
  if (arguments.json)
    tell("{}\n", to_json(arguments, cost, threads, timing).dump(2));
  else
    print_text(arguments, cost, threads, timing);
  if (timing.result.stopped) return Exit::interrupted;
  return timing.result.converged ? Exit::success : Exit::not_converged;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<BenchCommand>();
  arguments->options.resources.threads = 1;
  arguments->options.resources.device = Device::cpu;
  CLI::App& command = *app.add_subcommand("bench", "time one transport problem");
  command.footer(
      "Weights are uniform. Reading the file is not timed; making the kernel, solving, and the "
      "final check\nof both marginals on the potentials are.");
  command.add_option("WHAT", arguments->what, "transport")->type_name("transport")->required();
  add_file(command, "--cost", arguments->cost, "cost matrix, one row a source point")->required();
  add_file(command, "--out", arguments->out,
           "potentials f and g: the plan is exp((f_i + g_j - c_ij)/lambda)");
  add_overwrite(command, arguments->overwrite);
  arguments->options.lambda = 0;  // required
  add_options(command, arguments->options,
              {"lambda", "tolerance", "solver", "precision", "device", "threads"});
  command.get_option("--lambda")
      ->description("entropy weight, in units of the cost")
      ->default_str("")
      ->required();
  add_integer(command, "--repeat", arguments->repeat, "times to solve it; the best counts",
              group::running);
  add_json(command, arguments->json);
  add_help(command);
  command.callback([arguments, &action] {
    if (arguments->what != "transport")
      throw Error({.field = "bench",
                   .value = fmt::format("'{}'", arguments->what),
                   .problem = "cannot be timed",
                   .remedy = "give transport"});
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace remblai::cli
